import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import type { Pool } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { awaitKnown } from './record-known.js';

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([eventStoreSchema, subscriptionsSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

it('an instant is known once its millisecond is over by the clock of the database: more may be recorded in it', async () => {
  let [now, looks] = ['2026-03-01T10:00:00.000999Z', 0];
  const query = (text: string, values: unknown[]) => {
    looks += 1;
    return db.pool.query(text.replace('clock_timestamp()', `timestamptz '${now}'`), values);
  };
  const pool = Object.assign(Object.create(db.pool) as Pool, { query });
  let isKnown = false;
  const waiting = awaitKnown({ pool, store }, new Date('2026-03-01T10:00:00.000Z')).then(() => (isKnown = true));
  await until('it has looked again', () => looks > 2);
  expect(isKnown).toBe(false);
  now = '2026-03-01T10:00:00.001000Z';
  await waiting;
  expect(isKnown).toBe(true);
});
