import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { PedigreeError, VirtualClock } from '#kernel';
import { installationSchema } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { CONFIGURATION_STREAM } from './event.js';
import { configurationHistory } from './history.js';
import { recordConfiguration, type DescribedPart, type RecordOptions } from './record.js';
import { migrationsApplied, starterOf } from './starter.js';

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1.2.3',
  profile: 'interface-v1',
};

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([installationSchema, eventStoreSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const profile = (graceMs: number): DescribedPart => ({ part: 'profile', state: { rules: { graceMs, pollMs: 1_000 } } });
const start = (program: string, parts: DescribedPart[], over: Partial<RecordOptions> = {}) =>
  recordConfiguration({
    store,
    installation: INSTALLATION,
    program,
    parts,
    actor: starterOf('ivanova'),
    reason: 'the registry asked for it',
    ...over,
  });
const recorded = async (program: string) =>
  (await store.readStream(CONFIGURATION_STREAM)).filter((event) => event.data['program'] === program);

describe('a start', () => {
  it('that is the first records the whole state, and another without a change writes nothing', async () => {
    const [first] = await start('one', [profile(0)]);
    expect(first).toMatchObject({
      program: 'one',
      part: 'profile',
      changes: [],
      state: { '/rules/graceMs': 0, '/rules/pollMs': 1_000 },
    });
    expect(first?.fromDigest).toBeUndefined();
    expect(await start('one', [profile(0)])).toEqual([]);
    expect(await recorded('one')).toHaveLength(1);
  });

  it('with another value says which field, from what to what, by whom and why', async () => {
    const [before] = await recorded('one');
    await start('one', [profile(20)]);
    const [, changed] = await recorded('one');
    expect(changed).toMatchObject({
      data: { changes: [{ field: '/rules/graceMs', from: 0, to: 20 }], fromDigest: before?.data['toDigest'] },
      metadata: {
        actor: { kind: 'person', name: 'ivanova', authenticatedBy: 'environment' },
        reason: 'the registry asked for it',
        softwareVersion: '1.2.3',
      },
    });
  });

  it('says so when no reason was given, and then names the user of the operating system', async () => {
    await start('one', [profile(30)], { actor: starterOf(undefined), reason: undefined });
    expect((await recorded('one')).at(-1)?.metadata).toMatchObject({
      reason: 'not given',
      actor: { kind: 'system', name: expect.stringMatching(/^.+@.+$/), authenticatedBy: 'operating-system' },
    });
  });

  it('on another port, and from another machine, is no change', async () => {
    const at = (port: number): DescribedPart[] => [
      { part: 'configuration', state: { databaseUrl: `postgres://127.0.0.1:${port}/p` }, local: { port } },
    ];
    expect(await start('two', at(1))).toMatchObject([{ local: { '/port': 1 } }]);
    expect(await start('two', at(2))).toEqual([]);
  });

  it('lists so many fields, counts the rest and keeps the whole state', async () => {
    const many = (value: number): DescribedPart[] => [
      { part: 'profile', state: Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`f${n}`, value])) },
    ];
    await start('three', many(0));
    const [changed] = await start('three', many(1));
    expect(changed).toMatchObject({ changesLeftOut: 50, state: { '/f249': 1 } });
    expect(changed?.changes).toHaveLength(200);
  });
});

describe('ten starts at once', () => {
  it('of one program are one change', async () => {
    const all = await Promise.all(
      Array.from({ length: 10 }, () => start('worker', [profile(1), { part: 'software', state: { version: '1' } }])),
    );
    // Those that found the same at the same moment return it too.
    expect(
      [...new Set(all.map((changed) => changed.map(({ part }) => part).join()))].filter((parts) => parts !== ''),
    ).toEqual(['profile,software']);
    expect((await recorded('worker')).map((event) => event.data['part'])).toEqual(['profile', 'software']);
  });

  it('of ten programs are ten, each recorded once', async () => {
    const names = Array.from({ length: 10 }, (_, n) => `program-${n}`);
    await Promise.all([...names, ...names].map((name) => start(name, [profile(1)])));
    for (const name of names) expect(await recorded(name)).toHaveLength(1);
  });
});

describe('a log that is away at the start', () => {
  const away = (times: number): Pick<EventStore, 'append' | 'readStream'> => {
    let left = times;
    const readStream: EventStore['readStream'] = (...args) =>
      left-- > 0 ? Promise.reject(new PedigreeError('unavailable', 'away')) : store.readStream(...args);
    return { append: store.append.bind(store), readStream };
  };
  const clock = Object.assign(new VirtualClock(), { wait: () => Promise.resolve() });

  it('is waited for, and not for ever', async () => {
    expect(await start('late', [profile(1)], { store: away(3), clock })).toHaveLength(1);
    await expect(start('late', [profile(2)], { store: away(Infinity), clock })).rejects.toThrow('away');
  });
});

describe('an append whose answer was lost', () => {
  it('is known again', async () => {
    let isLost = true;
    const append: EventStore['append'] = async (...args) => {
      const result = await store.append(...args);
      if (isLost) throw ((isLost = false), new PedigreeError('unavailable', 'lost'));
      return result;
    };
    await start('lost', [profile(1)], {
      store: { append, readStream: store.readStream.bind(store) },
      clock: Object.assign(new VirtualClock(), { wait: () => Promise.resolve() }),
    });
    expect(await recorded('lost')).toHaveLength(1);
  });
});

describe('the history', () => {
  it('is newest first, of one program or part where asked, and in pages', async () => {
    const first = await configurationHistory(store, { program: 'one', limit: 2 });
    expect(first).toMatchObject({
      hasMore: true,
      changes: [{ reason: 'not given' }, { reason: 'the registry asked for it' }],
    });
    const rest = await configurationHistory(store, { program: 'one', limit: 2, before: first.changes[1]?.version });
    expect(rest).toMatchObject({ hasMore: false, changes: [{ program: 'one', changes: [] }] });
    expect(
      (await configurationHistory(store, { part: 'software', limit: 100 })).changes.map((one) => one.program),
    ).toEqual(['worker']);
  });
});

describe('migrations applied', () => {
  it('are told of the program’s own sets only', async () => {
    const told = await migrationsApplied(db.pool, [installationSchema]);
    expect(told).toEqual({
      installation: { files: 1, last: '0001-installation.sql', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });
});
