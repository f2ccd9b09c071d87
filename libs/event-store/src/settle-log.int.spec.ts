import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PedigreeError } from '#kernel';
import { installationId, installationSchema, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { FakeEventStore } from '../../../test/support/event-store-fake/fake-event-store.js';
import { mustAppend, newEvent, readEverything } from './contract-events.js';
import { EventStoreDbEventStore } from './eventstoredb/event-store-db.js';
import { openEventStore } from './open-event-store.js';
import type { EventStore } from './port.js';
import { eventStoreSchema } from './schema.js';
import { INSTALLATION_BEGUN, INSTALLATION_STREAM, settleLog } from './settle-log.js';

const NOWHERE = 'esdb://log.example.test:2113?tls=false';
const ROUNDS = 8;

let opened: { close(): Promise<void> }[];
let databases: TestDatabase[];
beforeEach(() => {
  [opened, databases] = [[], []];
});
afterEach(async () => {
  for (const one of opened) await one.close();
  for (const db of databases) await db.drop();
});

/** An installation's database, new. */
async function newDatabase(): Promise<TestDatabase> {
  const db = await testDatabase([installationSchema, eventStoreSchema]);
  databases.push(db);
  return db;
}

async function open(pool: Pool, eventStoreUrl?: string): Promise<EventStore> {
  const store = await openEventStore({ pool, eventStoreUrl });
  opened.push(store);
  return store;
}

/** The start of a program, as far as the log is concerned. */
const settle = async (
  { pool }: TestDatabase,
  eventStoreUrl?: string,
  given: EventStore | Promise<EventStore> = open(pool, eventStoreUrl),
): Promise<void> => settleLog({ db: pool, store: await given, eventStoreUrl, participant: 'own', program: 'worker' });
/** The same store, but for one of its calls. */
const instead = <Name extends 'readStream' | 'append'>(
  store: EventStore,
  name: Name,
  call: EventStore[Name],
): EventStore =>
  ({
    append: store.append.bind(store),
    readStream: store.readStream.bind(store),
    readAll: store.readAll.bind(store),
    [name]: call,
  }) as unknown as EventStore;
const place = async ({ pool }: TestDatabase): Promise<unknown[]> =>
  (await pool.query('SELECT place, installation_seen FROM log_place')).rows;
const shown = async (store: EventStore): Promise<string[]> =>
  (await readEverything(store)).map(({ stream, type }) => `${stream} ${type}`);
const FIRST = `${INSTALLATION_STREAM} ${INSTALLATION_BEGUN}`;
/** What a version before this one left in the database at its first start. */
const settledBefore = ({ pool }: TestDatabase, where: string): Promise<unknown> =>
  pool.query('INSERT INTO log_place (place) VALUES ($1)', [where]);

describe('a log in the database', () => {
  it('begins with whose it is, once, and stays there', async () => {
    const db = await newDatabase();
    const store = await open(db.pool);
    expect(store.positionUnit).toBe('event');
    await settle(db);
    await mustAppend(store, 'noted-1', { expected: 'none', events: [newEvent()] });
    await settle(db);
    expect(await shown(store)).toEqual([FIRST, 'noted-1 Noted']);
    expect(await store.readStream(INSTALLATION_STREAM)).toMatchObject([
      {
        data: { installationId: await installationId(db.pool) },
        metadata: { participant: 'own', actor: { kind: 'system', name: 'worker' } },
      },
    ]);
    expect(await place(db)).toEqual([{ place: 'database', installation_seen: true }]);
    await expect(settle(db, NOWHERE)).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'EVENTSTORE_URL' },
      message: expect.stringContaining('lies in its database'),
    });
  });

  it('of a version before is taken over with its events, whether its place was kept or not', async () => {
    const [kept, notKept] = [await newDatabase(), await newDatabase()];
    for (const db of [kept, notKept])
      await mustAppend(await open(db.pool), 'noted-1', { expected: 'none', events: [newEvent()] });
    await settledBefore(kept, 'database');
    for (const db of [kept, notKept]) {
      await settle(db);
      await settle(db);
      expect(await shown(await open(db.pool))).toEqual(['noted-1 Noted', FIRST]);
    }
  });

  it('is refused when it is another installation’s, or has lost its first event', async () => {
    const db = await newDatabase();
    await settle(db);
    const before = await installationId(db.pool);
    await db.pool.query('UPDATE installation SET id = gen_random_uuid()');
    const after = await installationId(db.pool);
    const other = new RegExp(
      `^DATABASE_URL: the event log in this database belongs to installation ${before}, and this database is ` +
        `installation ${after};`,
    );
    await expect(settle(db)).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'DATABASE_URL' },
      message: expect.stringMatching(other),
    });
    await db.pool.query('TRUNCATE event');
    await expect(settle(db)).rejects.toThrow(
      /^DATABASE_URL: the event log in this database is empty, but this database, installation .* has worked on it before;/,
    );
  });

  it('begins with one event when several programs start at once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const db = await newDatabase();
      await Promise.all(Array.from({ length: 4 }, () => settle(db)));
      expect(await shown(await open(db.pool))).toEqual([FIRST]);
    }
  });
});

describe('a log on a server (a FAKE)', () => {
  let fake: FakeEventStore;
  beforeEach(async () => {
    fake = new FakeEventStore();
    await fake.start();
    opened.push({ close: () => fake.stop() });
  });
  const onServer = (): string[] =>
    fake.log.records.filter(({ stream }) => !stream.startsWith('$')).map(({ stream, type }) => `${stream} ${type}`);
  const note = async (db: TestDatabase): Promise<unknown> =>
    mustAppend(await open(db.pool, fake.url), 'noted-1', { expected: 'any', events: [newEvent()] });

  it('begins with whose it is, once, and stays there', async () => {
    const db = await newDatabase();
    expect((await open(db.pool, fake.url)).positionUnit).toBe('byte');
    await settle(db, fake.url);
    await note(db);
    await settle(db, fake.url);
    expect(onServer()).toEqual([FIRST, 'noted-1 Noted']);
    expect(await place(db)).toEqual([{ place: 'server', installation_seen: true }]);
    await expect(settle(db)).rejects.toThrow(/EVENTSTORE_URL: is not set, but the event log .* name it/);
  });

  it(
    'is refused to a database of another installation, by both names and without a password; that one may still go ' +
      'to its own',
    async () => {
      const [owner, stranger] = [await newDatabase(), await newDatabase()];
      await settle(owner, fake.url);
      const url = fake.url.replace('//', '//admin:secret-word@');
      const [is, was] = [await installationId(stranger.pool), await installationId(owner.pool)];
      const error = await settle(stranger, url).catch((refusal: unknown) => refusal as Error);
      const host = fake.url.slice('esdb://'.length, fake.url.indexOf('?'));
      const message =
        `EVENTSTORE_URL: the event log at ${host} belongs to installation ${was}, and this database is installation ` +
        `${is}; name the log of this database, or the database of that log`;
      expect(error).toMatchObject({ code: 'invalid_configuration', place: { field: 'EVENTSTORE_URL' }, message });
      expect([onServer(), await place(stranger)]).toEqual([[FIRST], []]);
      await settle(stranger);
      expect(await shown(await open(stranger.pool))).toEqual([FIRST]);
    },
  );

  it('is refused to a new database when it holds events, though it does not say whose', async () => {
    const db = await newDatabase();
    await note(db);
    await expect(settle(db, fake.url)).rejects.toThrow(
      /^EVENTSTORE_URL: the event log at \S+ holds events that this database, installation \S+, has not written;/,
    );
    expect([onServer(), await place(db)]).toEqual([['noted-1 Noted'], []]);
  });

  it('of a version before is taken over with its events', async () => {
    const db = await newDatabase();
    await settledBefore(db, 'server');
    await note(db);
    await settle(db, fake.url);
    await settle(db, fake.url);
    expect([onServer(), await place(db)]).toEqual([
      ['noted-1 Noted', FIRST],
      [{ place: 'server', installation_seen: true }],
    ]);
  });

  it(
    'that was wiped is refused to whoever has worked on it, and also when programs that still ran have written to ' +
      'it since',
    async () => {
      const [db, older] = [await newDatabase(), await newDatabase()];
      await settle(db, fake.url);
      await settledBefore(older, 'server');
      const wiped = new FakeEventStore();
      await wiped.start();
      opened.push({ close: () => wiped.stop() });
      for (const one of [db, older])
        await expect(settle(one, wiped.url)).rejects.toThrow(
          /^EVENTSTORE_URL: the event log at \S+ is empty, but this database, installation \S+, has worked on it before;/,
        );
      await mustAppend(await open(db.pool, wiped.url), 'noted-1', { expected: 'none', events: [newEvent()] });
      await expect(settle(db, wiped.url)).rejects.toThrow(/has lost its first event, but this database/);
      expect(wiped.log.stream(INSTALLATION_STREAM)).toEqual([]);
    },
  );

  it('is no empty one for its own events, however many, and a new database begins on it', async () => {
    const db = await newDatabase();
    for (let n = 0; n < 40; n += 1)
      fake.log.append('$stats-fake', 'any', [
        {
          id: randomUUID(),
          type: '$statsCollected',
          isJson: true,
          data: Buffer.from('{}'),
          metadata: new Uint8Array(),
        },
      ]);
    const store = new EventStoreDbEventStore({ url: fake.url, maxScan: 2 });
    opened.push(store);
    // Its head is a guess then.
    expect(await store.head()).toBeGreaterThan(0n);
    await settle(db, fake.url, store);
    expect(onServer()).toEqual([FIRST]);
  });

  it('begins with one event when several programs start at once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [db, own] = [await newDatabase(), new FakeEventStore()];
      await own.start();
      opened.push({ close: () => own.stop() });
      await Promise.all(Array.from({ length: 4 }, () => settle(db, own.url)));
      expect(own.log.stream(INSTALLATION_STREAM)).toHaveLength(1);
    }
  });

  it('has one installation when two databases begin on it at once', async () => {
    const both = [await newDatabase(), await newDatabase()];
    const results = await Promise.allSettled(both.map((db) => settle(db, fake.url)));
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { message: expect.stringContaining('belongs to installation') },
    });
    expect(onServer()).toEqual([FIRST]);
  });

  it('is known by a program that found it empty just before another one began, and wrote on', async () => {
    const db = await newDatabase();
    const store = await open(db.pool, fake.url);
    let looks = 0;
    const slow = instead(store, 'readStream', async (...args) => {
      const seen = await store.readStream(...args);
      if (looks++ > 0) return seen;
      await settle(db, fake.url);
      await note(db);
      return seen;
    });
    await settle(db, fake.url, slow);
    expect(onServer()).toEqual([FIRST, 'noted-1 Noted']);
  });

  it('is waited for when it is away, and begun once when the answer of the append is lost', async () => {
    const db = await newDatabase();
    const store = await open(db.pool, fake.url);
    let triesAway = 2;
    const away = instead(store, 'readStream', (...args) =>
      triesAway-- > 0 ? Promise.reject(new PedigreeError('unavailable', 'away')) : store.readStream(...args),
    );
    fake.faults.answersToLose = 1;
    await settle(db, fake.url, away);
    expect([triesAway < 0, onServer()]).toEqual([true, [FIRST]]);
  });
});

describe('an address of a log', () => {
  it.each([
    'http://log.example.test:2113',
    'esdb://',
    'esdb://user:secret-word@log.example.test:2113?tls=maybe&tls=no%',
  ])('is refused in words when it is %s', async (eventStoreUrl) => {
    const { pool } = await newDatabase();
    const error: unknown = await openEventStore({ pool, eventStoreUrl }).catch((refused: unknown) => refused);
    expect(error).toMatchObject({ code: 'invalid_configuration', message: expect.stringMatching(/^EVENTSTORE_URL: /) });
    expect((error as Error).message).not.toMatch(/secret-word/);
  });
});
