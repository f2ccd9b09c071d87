import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PostgresEventStore, eventStoreSchema } from '#event-store';
import { systemClock } from '#kernel';
import { installationSchema } from '#postgres';
import { readModelSchemas } from '#read-models';
import { segments, segmentsSchema } from '#segments';
import type { ServiceLog } from '#service';
import { subscriptionsSchema } from '#subscriptions';
import { livesOf, writeLives } from '../../../libs/segments/test/lives.js';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { keepSegments } from './keep-segments.js';

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
  db = await testDatabase([
    installationSchema,
    eventStoreSchema,
    subscriptionsSchema,
    ...readModelSchemas,
    segmentsSchema,
  ]);
});
afterAll(async () => {
  await Promise.all([db.drop(), folder.remove()]);
});

it('writes the segments of whole days and seals each in the log, once', async () => {
  const store = new PostgresEventStore({ pool: db.pool });
  await writeLives(db.pool, livesOf(7, { packs: 20, boxes: 4, documents: 80, days: 4 }), 810);
  const errors: unknown[] = [];
  const note = (one: unknown): void => void errors.push(one);
  const look = async (): Promise<void> => {
    const stopping = new AbortController();
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
      log: { info: () => undefined, warn: note, error: note } as unknown as ServiceLog,
      clock: { ...systemClock, wait: () => Promise.resolve(stopping.abort()) },
    });
  };
  await look();
  await look();
  expect(errors).toEqual([]);
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
  await store.close();
});
