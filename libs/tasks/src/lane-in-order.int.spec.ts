import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import { runLane, type RunnerReport } from './lane-runner.js';
import type { Task, TaskResult } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';

const PAST = new Date('2026-01-01T00:00:00Z');
const DONE: TaskResult = { kind: 'done' };
const LANE = 'lane';

describe('a lane whose work is done in its order', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  /** One of each process. */
  let queues: PostgresTaskQueue[];
  /** Keys, as they were worked on. */
  let begun: string[];
  const abort = { now: new AbortController() };
  /** How often a process has asked whether it may begin. */
  const looks = { count: 0 };

  beforeAll(async () => {
    db = await testDatabase([tasksSchema]);
  });
  beforeEach(async () => {
    await db.pool.query('TRUNCATE task, task_key');
    queues = [1, 2, 3].map(() => new PostgresTaskQueue({ pool: db.pool }));
    looks.count = 0;
    for (const queue of queues) {
      const look = queue.isFirstHeld.bind(queue);
      queue.isFirstHeld = (...asked) => ((looks.count += 1), look(...asked));
    }
    begun = [];
    abort.now = new AbortController();
  });
  afterAll(() => db?.drop());

  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `t${i}`);
  const schedule = (keys: string[]) =>
    (queues[0] as PostgresTaskQueue).schedule(
      db.pool,
      keys.map((key) => ({ key, kind: 'read', lane: LANE, dueAt: PAST, payload: {} })),
    );

  /** Serves the lane by all processes; `handle` tells what becomes of a task. */
  function serve(handle: (task: Task) => Promise<TaskResult> = () => Promise.resolve(DONE), batch = 7) {
    const reports: RunnerReport[] = [];
    const handleMany = async (tasks: Task[]): Promise<(TaskResult | Error)[]> => {
      begun.push(...tasks.map(({ key }) => key));
      await new Promise(setImmediate);
      const settled = await Promise.allSettled(tasks.map(handle));
      return settled.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error)));
    };
    const ended = queues.map((queue, i) =>
      runLane({
        queue,
        lane: LANE,
        holder: `process ${i}`,
        signal: abort.now.signal,
        concurrency: 1,
        inOrder: true,
        batch,
        firstBackoffMs: 1,
        mostBackoffMs: 1,
        isAway: (error) => error instanceof Error && error.message === 'away',
        kinds: { read: { handleMany } },
        report: (report) => reports.push(report),
      }),
    );
    const stop = async (): Promise<void> => {
      abort.now.abort();
      await Promise.all(ended);
      await Promise.all(queues.map((queue) => queue.close()));
    };
    return { reports, stop };
  }
  const live = async () => (await db.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM task')).rows[0]?.n;
  const allDone = () => until('all is done', async () => (await live()) === 0);

  it('is served by one process at a time, whoever it is', async () => {
    const all = names(200);
    await schedule(all.slice(0, 120));
    const { stop } = serve();
    for (let from = 120; from < 200; from += 10) await schedule(all.slice(from, from + 10));
    await allDone();
    await stop();
    expect(begun).toEqual(all);
  });

  it('stands still behind a task that a dead process had begun, and goes on with it', async () => {
    const all = names(5);
    await schedule(all);
    const dead = queues[0] as PostgresTaskQueue;
    await dead.claim(LANE, { limit: 2, leaseMs: 600_000, holder: 'dead' });
    const { stop } = serve();
    await until('all have looked, often', () => looks.count > 30);
    expect(begun).toEqual([]);
    const { rows } = await db.pool.query('SELECT max(lease_number) AS n FROM task');
    expect(rows).toEqual([{ n: 1 }]);
    await dead.endLeasesOf(['dead']);
    await allDone();
    await stop();
    expect(begun).toEqual(all);
  });

  it('does not wait for a task of a kind that only a later version serves', async () => {
    const later = { key: 'later', kind: 'of a later version', lane: LANE, dueAt: PAST, payload: {} };
    await (queues[0] as PostgresTaskQueue).schedule(db.pool, [later]);
    await schedule(names(3));
    const { stop } = serve();
    await until('all others are done', async () => (await live()) === 1);
    await stop();
    expect(begun).toEqual(names(3));
  });

  it('tries again what failed, alone, behind those that were due', async () => {
    let fails = 1;
    await schedule(names(6));
    const { stop, reports } = serve(({ key }) =>
      key === 't2' && (fails -= 1) >= 0 ? Promise.reject(new Error('no')) : Promise.resolve(DONE),
    );
    await allDone();
    await stop();
    expect(begun).toEqual([...names(6), 't2']);
    expect(reports).toMatchObject([{ kind: 'task_threw', error: 'Error: no', task: { key: 't2' } }]);
  });

  describe('while what all need is away', () => {
    const away = () => Promise.reject(new Error('away'));

    it('keeps the place of all that fail for it, also before those that come meanwhile', async () => {
      let fails = 12;
      await schedule(names(7));
      const { stop } = serve(async ({ key }) => {
        if (key < 't3' || (fails -= 1) < 0) return DONE;
        if (fails === 5) await schedule(['t7', 't8']);
        return away();
      });
      await allDone();
      await stop();
      const tail = ['t3', 't4', 't5', 't6'];
      expect(begun).toEqual(['t0', 't1', 't2', ...tail, ...tail, ...tail, ...tail, 't7', 't8']);
    });

    it('does not begin what is behind for one task alone longer than ten tries, and once', async () => {
      await schedule(names(4));
      const { stop } = serve(({ key, attempts }) => (key === 't1' && attempts < 4 ? away() : Promise.resolve(DONE)), 2);
      await allDone();
      await stop();
      expect(begun.filter((key) => key === 't1')).toHaveLength(10 + 3);
      expect(begun.slice(0, 11)).toEqual(['t0', ...Array.from({ length: 10 }, () => 't1')]);
    });

    it('gives back at a stop what it keeps', async () => {
      await schedule(['t0']);
      // In the third try: a busy test might be told of it when the last one is over.
      let tries = 0;
      const stopped: Promise<void>[] = [];
      const { stop } = serve(() => {
        if ((tries += 1) === 3) stopped.push(stop());
        return away();
      });
      await until('it is told to stop', () => stopped.length > 0);
      await Promise.all(stopped);
      expect(tries).toBe(3);
      const { rows } = await db.pool.query('SELECT due_at, attempts, lease_until::text FROM task');
      expect(rows).toEqual([{ due_at: PAST, attempts: 0, lease_until: '-infinity' }]);
    });
  });

  describe('with a task that ends whoever works on it', () => {
    /** Serves the lane by a process that dies, with all that it holds, as soon as it is given one of `deadly`. */
    async function lifeOf(deadly: string[], isOver: () => Promise<boolean>): Promise<string[][]> {
      const queue = new PostgresTaskQueue({ pool: db.pool });
      const turns: string[][] = [];
      let isDead = false;
      const its = Object.create(queue) as PostgresTaskQueue;
      its.settle = (...given) => (isDead ? Promise.resolve(false) : queue.settle(...given));
      const death = new AbortController();
      const handleMany = (tasks: Task[]): Promise<TaskResult[]> => {
        turns.push(tasks.map(({ key }) => key));
        isDead = tasks.some(({ key }) => deadly.includes(key));
        if (isDead) death.abort();
        return isDead ? new Promise(() => undefined) : Promise.resolve(tasks.map(() => DONE));
      };
      const ended = runLane({
        queue: its,
        ...{ lane: LANE, holder: 'one of many', signal: death.signal, concurrency: 1, inOrder: true, graceMs: 0 },
        kinds: { read: { handleMany } },
      });
      await until('it is dead, or all is done', async () => isDead || (await isOver()));
      death.abort();
      await ended;
      await queue.endLeasesOf(['one of many']);
      await queue.close();
      return turns;
    }

    it('sets it aside, where an operator sees it, and does all others in their order', async () => {
      await schedule(names(6));
      const failed = () => (queues[0] as PostgresTaskQueue).failedTasks();
      const isOver = async () => (await live()) === (await failed()).length;
      const lives: string[][][] = [];
      while (lives.length < 10 && !(await isOver())) lives.push(await lifeOf(['t2'], isOver));
      expect(lives).toEqual([
        [names(6)],
        [['t0'], ['t1'], ['t2']],
        [['t2']],
        [['t2']],
        [['t2']],
        [['t3'], ['t4'], ['t5']],
      ]);
      expect(await failed()).toMatchObject([
        { key: 't2', error: expect.stringMatching(/^gave up: 5 processes in a row ended, or stood still/) },
      ]);
      expect(await (queues[0] as PostgresTaskQueue).retryFailed(['t2'], 'mended')).toBe(1);
      expect(await lifeOf([], async () => (await live()) === 0)).toEqual([['t2']]);
    });

    it('forgets what was lost as soon as an attempt has an answer', async () => {
      await schedule(['t0']);
      const [queue] = queues as [PostgresTaskQueue];
      const claim = () => queue.claim(LANE, { limit: 1, leaseMs: 600_000, holder: 'x' });
      const lose = async () => (await claim(), queue.endLeasesOf(['x']));
      for (let lost = 0; lost < 3; lost += 1) await lose();
      const [given] = (await claim()) as [Task];
      expect(given.leasesLost).toBe(3);
      await queue.settle(given, { kind: 'give_back' });
      const [again] = (await claim()) as [Task];
      expect(again.leasesLost).toBe(3);
      await queue.settle(again, { kind: 'retry', delayMs: 0 });
      expect(await claim()).toMatchObject([{ leasesLost: 0, leaseExpiredBefore: true }]);
    });
  });
});
