import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, VirtualClock } from '#kernel';
import { testDatabase } from '../../../test/support/database.js';
import { runLane } from './lane-runner.js';
import type { LaneRunnerOptions, RunnerReport } from './lane-runner.js';
import type { NewTask, Task, TaskResult } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';

const PAST = new Date('2026-01-01T00:00:00Z');
const task = (key: string, more: Partial<NewTask> = {}): NewTask => ({
  key,
  kind: 'read',
  lane: 'lane',
  dueAt: PAST,
  payload: {},
  ...more,
});
const DONE: TaskResult = { kind: 'done' };

describe('a lane runner', () => {
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

  /** Starts a runner; `stop` ends it and waits for its end. */
  const start = (options: Partial<LaneRunnerOptions> & Pick<LaneRunnerOptions, 'kinds'>) => {
    const abort = new AbortController();
    const reports: RunnerReport[] = [];
    const ended = runLane({
      queue,
      lane: 'lane',
      holder: 'test',
      signal: abort.signal,
      firstBackoffMs: 1,
      report: (report) => reports.push(report),
      ...options,
    });
    return { reports, ended, stop: () => (abort.abort(), ended) };
  };
  /** A promise and the function that fulfils it once `count` calls were made. */
  const after = (count: number) => {
    let tick: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (tick = () => void ((count -= 1) <= 0 && resolve())));
    return { reached, tick };
  };

  it('serves what is scheduled, before and while it waits, with no more hands than allowed', async () => {
    await queue.schedule(
      db.pool,
      Array.from({ length: 30 }, (_, i) => task(`a${i}`)),
    );
    const all = after(60);
    let now = 0;
    let most = 0;
    const runner = start({
      concurrency: 3,
      kinds: {
        read: {
          async handle() {
            most = Math.max(most, (now += 1));
            await new Promise(setImmediate);
            now -= 1;
            all.tick();
            return DONE;
          },
        },
      },
    });
    await queue.schedule(
      db.pool,
      Array.from({ length: 30 }, (_, i) => task(`b${i}`)),
    );
    await all.reached;
    await runner.stop();
    expect(most).toBe(3);
    expect(runner.reports).toEqual([]);
    expect((await db.pool.query('SELECT key FROM task')).rows).toEqual([]);
  });

  it('begins what it has claimed as soon as a hand is free, also where the lane has no more for now', async () => {
    await queue.schedule(
      db.pool,
      Array.from({ length: 4 }, (_, i) => task(`one${i}`)),
    );
    const all = after(4);
    const kinds: LaneRunnerOptions['kinds'] = {
      status: { handleMany: (tasks) => Promise.resolve(tasks.map(() => DONE)) },
      read: { handle: async () => (all.tick(), DONE) },
    };
    const runner = start({ concurrency: 1, batch: 100, maxWaitMs: 60_000, kinds });
    const late = setTimeout(() => void runner.stop(), 3_000);
    await Promise.race([all.reached, runner.ended]);
    clearTimeout(late);
    await runner.stop();
    expect((await db.pool.query('SELECT key FROM task')).rows).toEqual([]);
  });

  it('gives the tasks of one kind together to a handler that serves many', async () => {
    await queue.schedule(db.pool, [
      ...Array.from({ length: 25 }, (_, i) => task(`many${i}`, { kind: 'status' })),
      task('single'),
    ]);
    const all = after(26);
    const sizes: number[] = [];
    const runner = start({
      batch: 100,
      kinds: {
        status: {
          most: 10,
          async handleMany(tasks) {
            sizes.push(tasks.length);
            tasks.forEach(all.tick);
            return tasks.map(() => DONE);
          },
        },
        read: { handle: async () => (all.tick(), DONE) },
      },
    });
    await all.reached;
    await runner.stop();
    expect(sizes).toEqual([10, 10, 5]);
    expect((await queue.queueFigures()).lanes).toEqual([]);
  });

  it('tries a task that threw again, then gives it up and says so', async () => {
    await queue.schedule(db.pool, [task('bad'), task('good')]);
    const attempts: number[] = [];
    const failed = after(1);
    const runner = start({
      maxAttempts: 3,
      kinds: {
        read: {
          async handle(one) {
            if (one.key === 'good') return DONE;
            attempts.push(one.attempts);
            throw new TypeError('broken handler');
          },
        },
      },
      report: (report) => report.kind === 'task_failed' && failed.tick(),
    });
    await failed.reached;
    await runner.stop();
    expect(attempts).toEqual([1, 2, 3]);
    expect(await queue.failedTasks()).toEqual([
      expect.objectContaining({
        key: 'bad',
        attempts: 3,
        error: 'gave up after 3 attempts: TypeError: broken handler',
      }),
    ]);
  });

  it('gives no task up because what all need is away, and later still for its own faults', async () => {
    await queue.schedule(db.pool, [task('late')]);
    const attempts: number[] = [];
    const failed = after(1);
    const runner = start({
      maxAttempts: 4,
      isAway: (error) => error.message === 'away',
      kinds: {
        read: {
          async handle(one) {
            attempts.push(one.attempts);
            throw new Error(attempts.length <= 8 ? 'away' : 'no');
          },
        },
      },
      report: (report) => report.kind === 'task_failed' && failed.tick(),
    });
    await failed.reached;
    await runner.stop();
    expect(attempts).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3, 4]);
    expect(await queue.failedTasks()).toMatchObject([{ key: 'late', error: 'gave up after 4 attempts: Error: no' }]);
  });

  it('treats a handler with too few results as broken', async () => {
    await queue.schedule(db.pool, [task('1'), task('2')]);
    const threw = after(2);
    const runner = start({
      kinds: { read: { handleMany: async () => [DONE] } },
      firstBackoffMs: 60_000,
      report: (report) => report.kind === 'task_threw' && threw.tick(),
    });
    await threw.reached;
    await runner.stop();
    expect(await queue.queueFigures()).toMatchObject({ ready: 2, leased: 0 });
  });

  it('leaves kinds that it does not know to others', async () => {
    await queue.schedule(db.pool, [task('new', { kind: 'of a newer version' }), task('mine')]);
    const mine = after(1);
    const runner = start({ kinds: { read: { handle: async () => (mine.tick(), DONE) } } });
    await mine.reached;
    await runner.stop();
    expect(await queue.queueFigures()).toMatchObject({ ready: 1, leased: 0, failed: 0 });
  });

  it('stops: lets the running one finish, gives the others back untried and in their place', async () => {
    await queue.schedule(db.pool, [
      task('first', { priority: 1 }),
      task('second', { priority: 2 }),
      task('third', { priority: 3 }),
    ]);
    const begun = after(1);
    const finish = after(1);
    const runner = start({
      concurrency: 1,
      kinds: {
        read: { handle: async () => (begun.tick(), await finish.reached, DONE) },
        // Makes the runner claim a batch, so that two tasks wait in its hands.
        other: { handleMany: async (tasks) => tasks.map(() => DONE) },
      },
    });
    await begun.reached;
    const ended = runner.stop();
    finish.tick();
    await ended;
    const rest = await queue.claim('lane', { limit: 10, leaseMs: 1_000, holder: 'next' });
    expect(
      rest.map(({ key, attempts, leaseExpiredBefore, dueAt }) => ({ key, attempts, leaseExpiredBefore, dueAt })),
    ).toEqual([
      { key: 'second', attempts: 1, leaseExpiredBefore: false, dueAt: PAST },
      { key: 'third', attempts: 1, leaseExpiredBefore: false, dueAt: PAST },
    ]);
  });

  it('does not wait for ever for a handler that does not end: it is told, and its lease is left to run out', async () => {
    await queue.schedule(db.pool, [task('endless')]);
    const clock = new VirtualClock();
    const begun = after(1);
    let told: AbortSignal | undefined;
    const runner = start({
      clock,
      graceMs: 5_000,
      kinds: {
        read: { handle: (_, { signal }) => (begun.tick(), (told = signal), new Promise<TaskResult>(() => undefined)) },
      },
    });
    await begun.reached;
    const ended = runner.stop();
    await new Promise(setImmediate);
    expect(told?.aborted).toBe(false);
    while (!told?.aborted) {
      clock.advance(5_000);
      await new Promise(setImmediate);
    }
    await ended;
    expect(await queue.queueFigures()).toMatchObject({ leased: 1 });
  });

  it(
    'writes nothing of what ends after its stop, for the database may be closed by then: the lease brings the task ' +
      'to another',
    async () => {
      await queue.schedule(db.pool, [task('late')]);
      const [begun, clock] = [after(1), new VirtualClock()];
      let endLate: (result: TaskResult) => void = () => undefined;
      let settled = 0;
      const counted = Object.assign(Object.create(queue) as PostgresTaskQueue, {
        settle: () => ((settled += 1), Promise.reject(new Error('the pool has ended'))),
      });
      const runner = start({
        queue: counted,
        clock,
        graceMs: 0,
        kinds: { read: { handle: () => (begun.tick(), new Promise<TaskResult>((resolve) => (endLate = resolve))) } },
      });
      await begun.reached;
      await runner.stop();
      endLate(DONE);
      await new Promise(setImmediate);
      expect([settled, runner.reports]).toEqual([0, []]);
    },
  );

  it('extends the lease of a handler that works long, and tells the handler when the lease is lost', async () => {
    await queue.schedule(db.pool, [task('long')]);
    const leases: Date[] = [];
    const lost = after(1);
    const runner = start({
      leaseMs: 300,
      kinds: {
        read: {
          async handle(_, { signal }) {
            while (leases.length < 4) {
              const { rows } = await db.pool.query('SELECT lease_until FROM task');
              if (rows[0].lease_until.getTime() !== leases.at(-1)?.getTime()) leases.push(rows[0].lease_until);
            }
            await db.pool.query('UPDATE task SET lease_number = lease_number + 1, holder = $1', ['thief']);
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
            return DONE;
          },
        },
      },
      report: (report) => report.kind === 'lease_lost' && lost.tick(),
    });
    await lost.reached;
    await runner.stop();
    expect((await db.pool.query('SELECT holder FROM task')).rows).toEqual([{ holder: 'thief' }]);
  });

  it('tells a handler until when its lease surely holds: no longer than the database says, and longer after each extension', async () => {
    await queue.schedule(db.pool, [task('long')]);
    const told = after(1);
    const seen: { untilMs: number; endMs: number }[] = [];
    const runner = start({
      leaseMs: 300,
      kinds: {
        read: {
          async handle(_, { heldUntilMs }) {
            const extensions = new Set<number>();
            while (seen.length < 3 && extensions.size < 10) {
              const untilMs = heldUntilMs();
              const { rows } = await db.pool.query(
                `SELECT lease_until, extract(epoch FROM lease_until - clock_timestamp())::float8 * 1000 AS left_ms
                 FROM task`,
              );
              extensions.add(rows[0].lease_until.getTime());
              if (untilMs !== seen.at(-1)?.untilMs)
                seen.push({ untilMs, endMs: systemClock.monotonicMs() + rows[0].left_ms });
            }
            told.tick();
            return DONE;
          },
        },
      },
    });
    await told.reached;
    await runner.stop();
    expect(seen).toHaveLength(3);
    expect(seen.filter(({ untilMs, endMs }) => !(untilMs <= endMs))).toEqual([]);
    expect(seen.map(({ untilMs }) => untilMs)).toEqual(seen.map(({ untilMs }) => untilMs).sort((a, b) => a - b));
  });

  it('outlives a database that is away for a while', async () => {
    const served: Task[] = [];
    const all = after(1);
    let away = 3;
    const flaky = Object.create(queue) as PostgresTaskQueue;
    flaky.claim = (lane, options) =>
      (away -= 1) >= 0 ? Promise.reject(new Error('connection refused')) : queue.claim(lane, options);
    await queue.schedule(db.pool, [task('patient')]);
    const runner = start({
      queue: flaky,
      kinds: { read: { handle: async (one) => (served.push(one), all.tick(), DONE) } },
    });
    await all.reached;
    await runner.stop();
    expect(served).toHaveLength(1);
    expect(runner.reports.map((report) => report.kind === 'queue_unavailable' && report.retryInMs)).toEqual([1, 2, 4]);
  });
});
