import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../test/support/database.js';
import { runLane } from './lane-runner.js';
import type { NewTask, Task, TaskResult } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';

const PAST = new Date('2026-01-01T00:00:00Z');
const task = (key: string): NewTask => ({ key, kind: 'send', lane: 'main/send', dueAt: PAST, payload: {} });
const DONE: TaskResult = { kind: 'done' };

/** Looks again whenever something was heard, and lets time pass between. */
function listener(clock: VirtualClock) {
  let heard: () => void = () => undefined;
  const until = async (reached: () => boolean): Promise<void> => {
    while (!reached()) {
      await new Promise<void>((resolve) => {
        heard = resolve;
        setImmediate(() => {
          clock.advance(500);
          resolve();
        });
      });
    }
  };
  return { heard: () => heard(), until };
}

describe('a lane that is held', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  let queue: PostgresTaskQueue;

  beforeAll(async () => {
    db = await testDatabase([tasksSchema]);
    queue = new PostgresTaskQueue({ pool: db.pool });
  });
  beforeEach(() => db.pool.query('TRUNCATE task, task_key'));
  afterAll(async () => {
    await queue?.close();
    await db?.drop();
  });

  /** A runner on a clock that stands still; `turns` lets it ask so often whether it is held. */
  function start(state: { held: boolean }) {
    const abort = new AbortController();
    const done: Task[] = [];
    let asked = 0;
    const clock = new VirtualClock();
    const { heard, until } = listener(clock);
    const held = (): Promise<boolean> => {
      asked += 1;
      heard();
      return Promise.resolve(state.held);
    };
    const handle = (one: Task): Promise<TaskResult> => {
      done.push(one);
      heard();
      return Promise.resolve(DONE);
    };
    const ended = runLane({
      queue,
      lane: 'main/send',
      holder: 'new',
      signal: abort.signal,
      kinds: { send: { handle } },
      concurrency: 2,
      clock,
      held,
    });
    return {
      done,
      until,
      turns: (count: number) => until(() => asked >= count),
      clock,
      stop: () => (abort.abort(), ended),
    };
  }

  const attempts = async (): Promise<number> =>
    (await db.pool.query<{ sum: number }>('SELECT coalesce(sum(attempts), 0)::int AS sum FROM task')).rows[0]?.sum ??
    -1;

  it('claims nothing, however long it is held, and all of it once afterwards', async () => {
    await queue.schedule(
      db.pool,
      Array.from({ length: 20 }, (_, i) => task(`send:${i}`)),
    );
    const state = { held: true };
    const runner = start(state);
    await runner.turns(60);
    expect(runner.done).toEqual([]);
    expect(await attempts()).toBe(0);
    state.held = false;
    await runner.until(() => runner.done.length >= 20);
    await runner.stop();
    expect(new Set(runner.done.map((one) => one.key)).size).toBe(20);
    expect(runner.done).toHaveLength(20);
  });

  it('takes up what a process had begun that is gone, and says so', async () => {
    await queue.schedule(db.pool, [task('begun'), task('waiting')]);
    const [begun] = await queue.claim('main/send', { limit: 1, leaseMs: 60_000, holder: 'gone' });
    await queue.endLeasesOf(['gone']);
    const runner = start({ held: true });
    await runner.until(() => runner.done.length > 0);
    await runner.turns(30);
    await runner.stop();
    expect(runner.done).toMatchObject([{ key: begun?.key, leaseExpiredBefore: true, attempts: 2 }]);
  });

  it('leaves a lease alone that still runs', async () => {
    await queue.schedule(db.pool, [task('begun')]);
    await queue.claim('main/send', { limit: 1, leaseMs: 60_000, holder: 'alive' });
    const runner = start({ held: true });
    await runner.turns(40);
    await runner.stop();
    expect(runner.done).toEqual([]);
  });
});
