import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { SequenceGate } from './sequence-gate.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [eventStoreSchema, evidenceSchema, subscriptionsSchema]);
});
afterAll(() => db.drop());

const stands = (position: number) =>
  db.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, clock_timestamp() - interval '1 hour')
     ON CONFLICT (name) DO UPDATE SET position = excluded.position`,
    [projectionCheckpoint({ name: 'sgtin-history' }), position],
  );

function opened() {
  const { pool } = db;
  const warned: object[] = [];
  const clock = new VirtualClock();
  const gate = new SequenceGate({
    ...{ pool, clock, store: new PostgresEventStore({ pool }), evidence: new PostgresEvidenceStore({ pool }) },
    documents: {
      readDocument: () => {
        throw new Error('nothing is judged');
      },
    },
    policies: new Map(),
    warn: (about) => warned.push(about),
  });
  return { gate, clock, warned };
}

it('waits for a record of packs from the moment that it is behind, however long there was nothing to record', async () => {
  const { gate, clock, warned } = opened();
  await stands(5);
  expect(await gate.behind(9n)).toEqual({ position: 5n, stillMs: 0 });
  clock.advance(599_999);
  expect(await gate.behind(10n)).toEqual({ position: 5n, stillMs: 599_999 });
  await stands(10);
  expect(await gate.behind(10n)).toBeUndefined();
  clock.advance(3_600_000);
  expect(await gate.behind(11n)).toEqual({ position: 10n, stillMs: 0 });
  expect(warned).toEqual([]);
});

it('says once where the record of packs stands still that sends wait for it no longer', async () => {
  const { gate, clock, warned } = opened();
  await stands(5);
  await gate.behind(9n);
  clock.advance(600_000);
  expect(await gate.behind(9n)).toEqual({ position: 5n, stillMs: 600_000 });
  await gate.behind(10n);
  expect(warned).toEqual([expect.objectContaining({ position: '5', neededAt: '9' })]);
  await stands(8);
  expect(await gate.behind(10n)).toEqual({ position: 8n, stillMs: 0 });
  clock.advance(700_000);
  await gate.behind(10n);
  expect(warned).toHaveLength(2);
  await stands(10);
  expect(await gate.behind(10n)).toBeUndefined();
  expect(warned).toHaveLength(2);
});
