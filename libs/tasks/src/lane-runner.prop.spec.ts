import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { testDatabase } from '../../../test/support/database.js';
import { runLane } from './lane-runner.js';
import type { Task, TaskResult } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

const PAST = new Date('2026-01-01T00:00:00Z');
/** What befalls one attempt. `crash`: the process dies in the handler, so nothing is settled. */
const befalls = fc.constantFrom('throw', 'retry', 'missed', 'crash');

function resultOf(mishap: string | undefined): TaskResult {
  if (mishap === 'throw') throw new Error('mishap');
  if (mishap === 'retry') return { kind: 'retry', delayMs: 0, error: 'mishap' };
  return mishap === 'missed' ? { kind: 'retry', delayMs: 0, countsAsAttempt: false } : { kind: 'done' };
}

const IMPATIENT = { lane: 'l', holder: 'h', firstBackoffMs: 1, graceMs: 0, maxWaitMs: 20, maxAttempts: 100 };
const END_LEASES = `UPDATE task SET lease_until = statement_timestamp() - interval '1 s'
  WHERE lease_until > '-infinity'`;

/** The queue of a process that may die: a dead one settles nothing. */
function mortal(queue: PostgresTaskQueue, isDead: () => boolean): PostgresTaskQueue {
  const its = Object.create(queue) as PostgresTaskQueue;
  its.settle = (task, result) => (isDead() ? new Promise<boolean>(() => undefined) : queue.settle(task, result));
  return its;
}

describe('tasks, whatever befalls them', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    db = await testDatabase([tasksSchema]);
  });
  afterAll(async () => db?.drop());

  async function untilEmpty(isDead: () => boolean): Promise<void> {
    while (!isDead() && (await db.pool.query('SELECT 1 FROM task LIMIT 1')).rowCount !== 0)
      await new Promise(setImmediate);
  }

  /**
   * Runs tasks through their mishaps; a crash abandons the whole queue object with its runner, and the next one takes
   * over.
   */
  async function live(mishaps: string[][], concurrency: number) {
    await db.pool.query('TRUNCATE task, task_key');
    const attempts = mishaps.map((): Pick<Task, 'attempts' | 'leaseExpiredBefore'>[] => []);
    const crashed = mishaps.map(() => 0);
    const crashesSeen: boolean[] = [];
    const tasks = mishaps.map((_, i) => ({ key: `send:${i}`, kind: 'send', lane: 'l', dueAt: PAST, payload: { i } }));
    for (let unfinished = true; unfinished;) {
      const queue = new PostgresTaskQueue({ pool: db.pool });
      // Each process schedules all of it again, as a saga that is replayed does.
      await queue.schedule(db.pool, tasks);
      const abort = new AbortController();
      let dead = false;
      const isDead = (): boolean => dead;
      const died = new Promise<void>((resolve) => abort.signal.addEventListener('abort', () => resolve()));
      const handle = async (task: Task): Promise<TaskResult> => {
        const i = Number(task.payload['i']);
        attempts[i]!.push({ attempts: task.attempts, leaseExpiredBefore: task.leaseExpiredBefore });
        crashesSeen.push(task.leaseExpiredBefore || crashed[i] === 0);
        const mishap = mishaps[i]!.shift();
        if (mishap !== 'crash') return resultOf(mishap);
        crashed[i]! += 1;
        dead = true;
        abort.abort();
        return new Promise<TaskResult>(() => undefined);
      };
      const kinds = { send: { handle } };
      const { signal } = abort;
      const runner = runLane({ ...IMPATIENT, queue: mortal(queue, isDead), signal, concurrency, kinds });
      const empty = untilEmpty(isDead);
      await Promise.race([empty, died]);
      unfinished = dead;
      abort.abort();
      await Promise.race([runner, died]);
      await empty;
      await queue.close();
      await db.pool.query(END_LEASES);
    }
    return { attempts, crashesSeen };
  }

  it('are each done, tried as often as something befell them at least, and told of every crash', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(befalls, { maxLength: 4 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (mishaps, concurrency) => {
          const expected = mishaps.map((list) => list.length + 1);
          const { attempts, crashesSeen } = await live(
            mishaps.map((list) => [...list]),
            concurrency,
          );
          // Each mishap costs one run, and a task whose process died beside it may run once more.
          for (const [i, runs] of attempts.entries()) expect(runs.length).toBeGreaterThanOrEqual(expected[i]!);
          expect(crashesSeen.every(Boolean)).toBe(true);
          const { rows } = await db.pool.query(
            'SELECT (SELECT count(*) FROM task)::int AS live, (SELECT count(*) FROM task_key)::int AS keys',
          );
          expect(rows).toEqual([{ live: 0, keys: mishaps.length }]);
        },
      ),
      { seed: SEED, numRuns: 12, verbose: 1 },
    );
  });
});
