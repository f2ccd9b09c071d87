import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { fillTasks } from '../../../test/bench/many-tasks.js';
import { indexConditions, pagesTouched, planOf, rowsLocked, rowsVisited } from '../../../test/support/plan.js';
import { CLAIM, KIND_SEPARATOR, NEXT_DUE } from './queue-sql.js';
import { tasksSchema } from './schema.js';

const WAITING = 100_000;
const LANE = 'a/status';
/** Those under a lease are looked at each time, and there are never more than the hands of all workers. */
const LEASED = 200;
const PRIORITIES = 4;
const KINDS = ['group_look', 'status'];

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase([tasksSchema]);
  await fillTasks(db.pool, { lane: LANE, rows: WAITING });
});
afterAll(() => db.drop());

/** A claim as the queue makes it, for two lanes of which the other has nothing at all. */
const claimCost = (most: number, kinds: string[] | null) =>
  planOf(db.pool, CLAIM, [[LANE, 'a/send'], [most, most], [kinds?.join(KIND_SEPARATOR) ?? null, null], 60_000, 'one']);

describe(`a claim beside ${WAITING} waiting tasks of its lane`, () => {
  it.each([
    ['of any kind', null],
    ['of some kinds', KINDS],
  ])('that finds nothing looks at no waiting task, %s', async (_, kinds) => {
    const plan = await claimCost(50, kinds);
    expect(rowsVisited(plan)).toBeLessThan(LEASED + 10 * PRIORITIES);
    // From version 18 on the server skips to the due ones of each priority by itself; on others the condition alone
    // does it.
    expect(indexConditions(plan)).toContainEqual(
      expect.stringMatching(/lane = .* AND \(priority = .* AND \(due_at <= /),
    );
    // With the function that tells the next due time, whose rows EXPLAIN does not show.
    expect(pagesTouched(plan)).toBeLessThan(2 * LEASED + 40 * PRIORITIES);
  });

  it('that finds tasks of the last priority looks at those', async () => {
    await db.pool.query(
      `INSERT INTO task (key, kind, lane, priority, due_at, payload) SELECT 'due:' || n, 'status', $1, 900, ` +
        `statement_timestamp() - interval '1 min', '{}' FROM generate_series(1, 500) AS n`,
      [LANE],
    );
    await db.pool.query('ANALYZE task');
    const plan = await claimCost(50, KINDS);
    // Each claimed task is found, then updated by its key, then shown.
    expect(rowsVisited(plan)).toBeLessThan(LEASED + 10 * PRIORITIES + 8 * 50);
  });

  it('that finds more than it wants locks what it takes, and nothing of a later priority', async () => {
    await db.pool.query(
      `INSERT INTO task (key, kind, lane, priority, due_at, payload) SELECT 'two:' || n, 'status', 'two', CASE ` +
        `WHEN n % 10 = 0 THEN 50 ELSE 900 END, statement_timestamp() - interval '1 min', '{}' FROM ` +
        'generate_series(1, 300) AS n',
    );
    const plan = await planOf(db.pool, CLAIM, [['two'], [20], [null], 60_000, 'one']);
    expect(rowsLocked(plan)).toBe(20);
  });

  it('asks when the next one is due in a few pages', async () => {
    const plan = await planOf(db.pool, NEXT_DUE, [[LANE], KINDS]);
    expect(pagesTouched(plan)).toBeLessThan(2 * LEASED + 40 * PRIORITIES);
  });
});
