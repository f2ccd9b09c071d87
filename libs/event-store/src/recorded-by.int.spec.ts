import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { newEvent, newStream } from './contract-events.js';
import { encodeAppend, procedureArguments } from './encode.js';
import { limitsOf } from './limits.js';
import { PostgresEventStore } from './postgres.js';
import { hasAllRecordedBy } from './recorded-by.js';
import { eventStoreSchema } from './schema.js';

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([eventStoreSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const BATCH = `SELECT append_batch($1::text[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::uuid[],
    $8::text[], $9::int[], $10::int[], $11::int[], $12::int[], $13::bytea)`;

/** An append on a connection of its own that has taken its time, and not committed. */
async function heldAppend(): Promise<{ end: (how: 'COMMIT' | 'ROLLBACK') => Promise<void>; after: Date }> {
  const asked = { stream: newStream(), expectedVersion: 'none' as const, events: [newEvent()] };
  const connection = await db.pool.connect();
  await connection.query('BEGIN');
  await connection.query(BATCH, procedureArguments([encodeAppend(asked, limitsOf({}))]));
  const end = async (how: 'COMMIT' | 'ROLLBACK'): Promise<void> => {
    await connection.query(how);
    connection.release();
  };
  return { end, after: await nextMillisecond() };
}

/** A millisecond of the database that is over, and that nothing was dated by before this was asked. */
async function nextMillisecond(): Promise<Date> {
  const { rows } = await db.pool.query<{ at: Date }>(
    "SELECT date_trunc('milliseconds', clock_timestamp() + interval '1 millisecond') AS at, pg_sleep(0.003)",
  );
  return rows[0]!.at;
}

const newest = async (): Promise<Date> => (await store.readAll((await store.head()) - 1n)).events[0]!.recordedAt;

it.each(['COMMIT', 'ROLLBACK'] as const)('has not all while an append has its time, until its %s', async (how) => {
  const held = await heldAppend();
  expect(await hasAllRecordedBy(db.pool, held.after)).toBe(false);
  // Neither who reads nor who waits for a turn changes that.
  const waiting = store.append(newStream(), 'none', [newEvent()]);
  expect(await hasAllRecordedBy(db.pool, held.after)).toBe(false);
  await held.end(how);
  await waiting;
  expect(await hasAllRecordedBy(db.pool, held.after)).toBe(true);
  expect((await newest()) > held.after).toBe(true);
});

it('is not held up by one that began after the log had something later', async () => {
  const before = await nextMillisecond();
  await store.append(newStream(), 'none', [newEvent()]);
  const held = await heldAppend();
  expect(await hasAllRecordedBy(db.pool, before)).toBe(true);
  expect(await hasAllRecordedBy(db.pool, await newest())).toBe(false);
  await held.end('COMMIT');
  expect(await hasAllRecordedBy(db.pool, before)).toBe(true);
});

it('is not held up by a transaction of something else, and waits for what is to come', async () => {
  const other = await db.pool.connect();
  await other.query('BEGIN');
  await other.query('CREATE TABLE elsewhere (n int)');
  const now = await nextMillisecond();
  expect(await hasAllRecordedBy(db.pool, now)).toBe(true);
  expect(await hasAllRecordedBy(db.pool, new Date(now.getTime() + 3_600_000))).toBe(false);
  await other.query('ROLLBACK');
  other.release();
});
