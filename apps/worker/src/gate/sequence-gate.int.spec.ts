import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
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

const stands = (position: number, seconds: number) =>
  db.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, clock_timestamp() - $3 * interval '1 second')
     ON CONFLICT (name) DO UPDATE SET position = excluded.position, updated_at = excluded.updated_at`,
    [projectionCheckpoint({ name: 'sgtin-history' }), position, seconds],
  );

it('says once where the record of packs stands still that sends wait for it no longer', async () => {
  const { pool } = db;
  const warned: object[] = [];
  const gate = new SequenceGate({
    ...{ pool, store: new PostgresEventStore({ pool }), evidence: new PostgresEvidenceStore({ pool }) },
    documents: {
      readDocument: () => {
        throw new Error('nothing is judged');
      },
    },
    policies: new Map(),
    warn: (about) => warned.push(about),
  });
  await stands(5, 300);
  expect(await gate.behind(9n)).toMatchObject({ position: 5n });
  expect(warned).toEqual([]);
  await stands(5, 700);
  await gate.behind(9n);
  await gate.behind(10n);
  expect(warned).toEqual([expect.objectContaining({ position: '5', neededAt: '9' })]);
  await stands(8, 700);
  await gate.behind(10n);
  expect(warned).toHaveLength(2);
  await stands(10, 700);
  expect(await gate.behind(10n)).toBeUndefined();
  expect(warned).toHaveLength(2);
});
