import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PostgresEventStore, eventStoreSchema } from '#event-store';
import { systemClock } from '#kernel';
import { inTransaction, installationSchema } from '#postgres';
import { readModelSchemas } from '#read-models';
import { forgettingSegments, segments, segmentsSchema, setOf } from '#segments';
import type { ServiceLog } from '#service';
import { subscriptionsSchema } from '#subscriptions';
import { livesOf, writeLives } from '../../../libs/segments/test/lives.js';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { keepSegments } from './keep-segments.js';
import { Troubles } from './troubles.js';

const told = livesOf(7, { packs: 20, boxes: 4, documents: 80, days: 4 });

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
/** Warnings and errors. */
let noted: { level: string; message: string; err?: Error }[];
beforeEach(async () => {
  noted = [];
  folder = await temporaryFolder();
  db = await testDatabase([
    installationSchema,
    eventStoreSchema,
    subscriptionsSchema,
    ...readModelSchemas,
    segmentsSchema,
  ]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterEach(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

/** One turn, in which files are swept too, and what its readiness names then. */
async function look(): Promise<string[]> {
  const stopping = new AbortController();
  const note =
    (level: string) =>
    (fields: object, message: string): void =>
      void noted.push({ ...fields, level, message });
  const log = { info: () => undefined, warn: note('warn'), error: note('error') } as unknown as ServiceLog;
  const troubles = new Troubles(log, systemClock);
  await keepSegments({
    pool: db.pool,
    store,
    installation: {
      id: '7a0a24a3-61d5-5a7c-9c5b-0b5a3f6d9c11',
      participant: 'own',
      softwareVersion: '1',
      profile: 'none',
    },
    settings: { folder: folder.path, memoryMb: 200, threads: 1 },
    signal: stopping.signal,
    log,
    troubles,
    clock: { ...systemClock, wait: () => Promise.resolve(stopping.abort()) },
  });
  return troubles.all().map(({ name }) => name);
}

const tell = (from: number, to: number): Promise<void> =>
  writeLives(db.pool, told.slice(from, to), told[to - 1]?.knownFrom ?? 0);
const isSealed = async (): Promise<boolean[]> =>
  (await segments(db.pool)).map(({ sealedPosition }) => sealedPosition !== null);
/** The root of each segment, and the last that its stream has. */
const roots = async (): Promise<{ stored: (string | null)[]; sealed: unknown[] }> => {
  const all = await segments(db.pool);
  const streams = await Promise.all(all.map(({ from }) => store.readStream(`segment-${from}`)));
  return { stored: all.map(({ root }) => root), sealed: streams.map((events) => events.at(-1)?.data['root']) };
};

it('writes the segments of whole days and seals each in the log, once', async () => {
  await tell(0, told.length);
  await look();
  await look();
  expect(noted).toEqual([]);
  const all = await segments(db.pool);
  const { events } = await store.readAll(0n, { limit: 100 });
  expect(all.length).toBeGreaterThan(1);
  expect(events.map(({ type, stream, data }) => ({ type, stream, data }))).toMatchObject(
    all.map(({ from, to, root }) => ({
      type: 'SegmentSealed',
      stream: `segment-${from}`,
      data: { to: String(to), root },
    })),
  );
  expect(all.map(({ sealedPosition }) => sealedPosition)).toEqual(events.map(({ position }) => position));
});

it('writes a missing file again, also where the next segment waits to be written', async () => {
  await tell(0, 40);
  await look();
  const before = await segments(db.pool);
  const [first] = before.map(setOf) as [string];
  await rm(join(folder.path, 'files', first, 'items.parquet'));
  await tell(40, told.length);
  await look();
  expect(noted).toMatchObject([{ level: 'warn', message: 'a segment was mended', set: first }]);
  expect((await segments(db.pool)).length).toBeGreaterThan(before.length);
  expect(await isSealed()).not.toContain(false);
});

it('seals what there is, also where a segment cannot be mended and none can follow', async () => {
  await tell(0, 40);
  await look();
  const before = await segments(db.pool);
  await rm(join(folder.path, 'files', setOf(before[0] as never)), { recursive: true });
  await db.pool.query('DELETE FROM item_movement WHERE known_from <= $1', [before[0]?.to]);
  await db.pool.query('UPDATE segment SET sealed_position = NULL');
  await tell(40, told.length);
  expect(await look()).toEqual(['write segments']);
  expect(noted).toMatchObject([
    { level: 'error', message: 'a segment is wrong' },
    { level: 'error', message: 'could not write segments', err: expect.objectContaining({ code: 'not_found' }) },
  ]);
  expect(await segments(db.pool)).toEqual(before);
});

it('seals last what is there, also where a rebuild gives other rows and another reconciler seals them', async () => {
  await tell(0, told.length);
  const rebuild = async (): Promise<void> => {
    await inTransaction(db.pool, async (tx) => {
      await tx.query(`SET LOCAL lock_timeout = '200ms'`);
      await forgettingSegments.lock(tx);
      await tx.query(`UPDATE movement_effect SET status = 'other'`);
      await forgettingSegments.change(tx);
    });
    await look();
  };
  let refused: unknown;
  // After the first segment is chosen, and before it is sealed.
  const read = store.readStream.bind(store);
  jest.spyOn(store, 'readStream').mockImplementationOnce(async (...args) => {
    refused = await rebuild().catch((error: unknown) => error);
    return read(...args);
  });
  await look();
  expect(refused).toMatchObject({ code: '55P03' });
  await rebuild();
  const { stored, sealed } = await roots();
  expect(sealed).toEqual(stored);
  expect((await store.readAll(0n, { limit: 100 })).events).toHaveLength(2 * stored.length);
  expect(await isSealed()).not.toContain(false);
});

it('seals once more where a version before left the seal of other rows as the last one', async () => {
  await tell(0, told.length);
  await look();
  const before = (await store.readAll(0n, { limit: 100 })).events.length;
  await db.pool.query('UPDATE segment SET root = $1 WHERE from_position = 0', ['f'.repeat(64)]);
  await look();
  expect((await roots()).sealed).not.toContain('f'.repeat(64));
  await db.pool.query(await readFile(new URL('0004-seal-again.sql', segmentsSchema.directory), 'utf8'));
  await look();
  const { stored, sealed } = await roots();
  expect(sealed).toEqual(stored);
  expect((await store.readAll(0n, { limit: 100 })).events).toHaveLength(before + 1);
});
