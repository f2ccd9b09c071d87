import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Transaction } from '#postgres';
import { copyOf, testDatabase, type TestDatabase } from './database.js';
import { lockIsAwaited } from './lock-is-awaited.js';
import { until } from './until.js';

let first: TestDatabase;
let copy: TestDatabase;
beforeAll(async () => {
  first = await testDatabase();
  await first.pool.query('CREATE TABLE told ()');
  await first.pool.end();
  copy = await copyOf(first.url);
});
afterAll(async () => {
  await copy.drop();
  await first.drop();
});

it('tells of those who wait in its own database, and not in a copy, whose tables have the same numbers', async () => {
  const holder: Transaction = await copy.pool.connect();
  const other = await copyOf(first.url);
  try {
    await holder.query('BEGIN; LOCK TABLE told IN ACCESS EXCLUSIVE MODE');
    const waiting = copy.pool.query('TABLE told');
    await until('it waits', () => lockIsAwaited(copy.pool, 'told'));
    expect(await lockIsAwaited(copy.pool)).toBe(true);
    expect([await lockIsAwaited(other.pool, 'told'), await lockIsAwaited(other.pool)]).toEqual([false, false]);
    await holder.query('ROLLBACK');
    await waiting;
  } finally {
    holder.release();
    await other.drop();
  }
});
