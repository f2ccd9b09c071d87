import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PostgresEventStore } from '#event-store';
import type { Pool } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { lockIsAwaited } from '../../../../test/support/lock-is-awaited.js';
import { madeEvent } from '../../../../test/support/made-event.js';
import { programRoles, type ProgramRoles } from '../../../../test/support/program-roles.js';
import { until } from '../../../../test/support/until.js';
import { awaitKnown } from './record-known.js';

let db: TestDatabase;
let roles: ProgramRoles;
/** The worker's appends, on connections of their own. */
let store: PostgresEventStore;
let gateway: Pool;
beforeAll(async () => {
  db = await testDatabase();
  roles = await programRoles(db);
  store = new PostgresEventStore({ pool: db.pool });
  gateway = roles.as('gateway');
});
afterAll(async () => {
  await store.close();
  await roles.drop();
  await db.drop();
});

/** The gateway waits until this is known, with its rights. Counts how often it has looked. */
function waiting(knownAt: Date, seen: (text: string) => string = (text) => text) {
  const state = { looks: 0, isKnown: false, done: Promise.resolve() };
  const query = (asked: string | { text: string }, values?: unknown[]): unknown => {
    const text = typeof asked === 'string' ? asked : asked.text;
    if (text.includes('event_counter')) state.looks += 1;
    return typeof asked === 'string'
      ? gateway.query(seen(asked), values)
      : gateway.query({ ...asked, name: undefined, text: seen(text) } as never);
  };
  const pool = Object.assign(Object.create(gateway) as Pool, { query });
  state.done = awaitKnown({ pool, store }, knownAt).then(() => void (state.isKnown = true));
  return state;
}

it('an instant is known once its millisecond is over by the clock of the database: more may be recorded in it', async () => {
  let now = '2026-03-01T10:00:00.000999Z';
  const asked = waiting(new Date('2026-03-01T10:00:00.000Z'), (text) =>
    text.replace('statement_timestamp()', `timestamptz '${now}'`),
  );
  await until('it has looked again', () => asked.looks > 2);
  expect(asked.isKnown).toBe(false);
  now = '2026-03-01T10:00:00.001000Z';
  await asked.done;
  expect(asked.isKnown).toBe(true);
});

it('an instant is known once what has its time has committed', async () => {
  const holder = await db.pool.connect();
  await holder.query('BEGIN; LOCK TABLE event IN SHARE MODE');
  // It takes its time before it writes, and that waits.
  const append = store.append('document-held', 'none', [madeEvent('Noted', {})]);
  await until('the append waits to write', () => lockIsAwaited(db.pool, 'event'));
  const { rows } = await db.pool.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  const instant = rows[0]!.at;
  const asked = waiting(instant);
  await until('it has looked again', () => asked.looks > 2);
  expect(asked.isKnown).toBe(false);
  await holder.query('COMMIT');
  holder.release();
  await append;
  const { events } = await store.readAll(0n);
  expect(events.map(({ recordedAt }) => recordedAt <= instant)).toEqual([true]);
  // It belongs to the answer, so the record must have come so far.
  await until('it has looked on', () => asked.looks > 4);
  expect(asked.isKnown).toBe(false);
  await db.pool.query('INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())', [
    projectionCheckpoint({ name: 'sgtin-history' }),
    events[0]!.position,
  ]);
  await asked.done;
});
