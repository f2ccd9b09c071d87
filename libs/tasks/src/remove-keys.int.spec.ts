import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { removeTaskKeys } from './remove-keys.js';
import { tasksSchema } from './schema.js';

let db: TestDatabase;
let queue: PostgresTaskQueue;
beforeAll(async () => {
  db = await testDatabase([tasksSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});
beforeEach(() => db.pool.query('TRUNCATE task, task_key'));

const task = (key: string) => ({ key, kind: 'k', lane: 'lane', dueAt: new Date(0), payload: {} });
async function finish(...keys: string[]): Promise<void> {
  const claimed = await queue.claim('lane', { limit: 100, leaseMs: 30_000, holder: 'h' });
  for (const one of claimed)
    await queue.settle(one, keys.includes(one.key) ? { kind: 'done' } : { kind: 'retry', delayMs: 0 });
}
/** As if everything that is there had been scheduled so many days ago. */
const age = (days: number) => db.pool.query('UPDATE task_key SET scheduled_on = scheduled_on - $1::int', [days]);
const live = async (): Promise<string[]> =>
  (await db.pool.query<{ key: string }>('SELECT key FROM task ORDER BY key')).rows.map((row) => row.key);
const keys = async (): Promise<number> =>
  (await db.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM task_key')).rows[0]?.n ?? -1;

describe('keys of tasks that are done', () => {
  it('hold for as long as they are kept, to the day', async () => {
    await queue.schedule(db.pool, [task('a')]);
    await finish('a');
    await age(400);
    expect(await removeTaskKeys(db.pool, { keptDays: 400, limit: 10 })).toBe(0);
    await queue.schedule(db.pool, [task('a')]);
    expect(await live()).toEqual([]);
    await age(1);
    expect(await removeTaskKeys(db.pool, { keptDays: 400, limit: 10 })).toBe(1);
    expect(await keys()).toBe(0);
  });

  it('hold for ever where the task is still there, and hold back no others', async () => {
    await queue.schedule(db.pool, [task('reader'), task('b'), task('c'), task('d')]);
    await finish('b', 'c', 'd');
    await age(500);
    for (let batch = 0; batch < 10 && (await removeTaskKeys(db.pool, { keptDays: 400, limit: 1 })) > 0; batch += 1);
    expect(await keys()).toBe(1);
    await queue.schedule(db.pool, [task('reader')]);
    expect(await live()).toEqual(['reader']);
  });

  it('are found by their day, not by reading all of them', async () => {
    await db.pool.query(
      'INSERT INTO task_key (digest) SELECT substring(sha256(n::text::bytea) FOR 16) FROM generate_series(1, ' +
        '20000) AS n; ANALYZE task_key',
    );
    const { rows } = await db.pool.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN SELECT digest FROM task_key WHERE scheduled_on < current_date - 400 ORDER BY scheduled_on LIMIT 1000',
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('Index Scan using task_key_day');
  });
});
