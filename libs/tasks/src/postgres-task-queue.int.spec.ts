import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inTransaction, openPool } from '#postgres';
import { testDatabase } from '../../../test/support/database.js';
import type { NewTask, Task } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';

const PAST = new Date('2026-01-01T00:00:00Z');
const FUTURE = new Date('2999-01-01T00:00:00Z');
const task = (key: string, more: Partial<NewTask> = {}): NewTask => ({
  key,
  kind: 'read',
  lane: 'a/status',
  dueAt: PAST,
  payload: { n: key },
  ...more,
});
const hold = { limit: 10, leaseMs: 60_000, holder: 'one' };
const keys = (tasks: Task[]) => tasks.map((one) => one.key);

describe('the task queue', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  let queue: PostgresTaskQueue;
  let other: PostgresTaskQueue;

  beforeAll(async () => {
    db = await testDatabase([tasksSchema]);
    queue = new PostgresTaskQueue({ pool: db.pool });
    other = new PostgresTaskQueue({ pool: db.pool, listenConnectionString: db.url });
  });
  beforeEach(() => db.pool.query('TRUNCATE task, task_key'));
  afterAll(async () => {
    await queue?.close();
    await other?.close();
    await db?.drop();
  });

  const letLeasesExpire = () =>
    db.pool.query(
      `UPDATE task SET lease_until = statement_timestamp() - interval '1 s' WHERE lease_until > '-infinity'`,
    );

  it('gives a task as it was scheduled', async () => {
    const payload = { text: 'кавычки " и \\ и \n', list: [1, null, { deep: true }] };
    await queue.schedule(db.pool, [task('send:1', { kind: 'send', priority: 7, payload })]);
    const [claimed] = await queue.claim('a/status', hold);
    expect(claimed).toEqual({
      key: 'send:1',
      kind: 'send',
      lane: 'a/status',
      priority: 7,
      dueAt: PAST,
      payload,
      attempts: 1,
      leaseExpiredBefore: false,
      leasesLost: 0,
      lease: expect.any(String),
      claimedAt: expect.any(Date),
    });
  });

  it('schedules a key once for ever: also in one call, while leased, and after it was done', async () => {
    await queue.schedule(db.pool, [task('k'), task('k', { payload: { n: 'second' } })]);
    await queue.schedule(db.pool, [task('k')]);
    const first = await queue.claim('a/status', hold);
    expect(first.map((one) => one.payload)).toEqual([{ n: 'k' }]);
    await queue.schedule(db.pool, [task('k')]);
    expect(await queue.claim('a/status', hold)).toEqual([]);
    expect(await queue.settle(first[0]!, { kind: 'done' })).toBe(true);
    await queue.schedule(db.pool, [task('k'), task('new')]);
    expect(keys(await queue.claim('a/status', hold))).toEqual(['new']);
  });

  it('schedules a key once when two transactions race', async () => {
    const batches = Array.from({ length: 8 }, (_, b) =>
      Array.from({ length: 50 }, (_, i) => task(`race:${b % 2 ? i : 49 - i}`)),
    );
    await Promise.all(batches.map((batch) => queue.schedule(db.pool, batch)));
    expect(await queue.claim('a/status', { ...hold, limit: 1_000 })).toHaveLength(50);
  });

  it('counts what is still to be done over all lanes, up to a limit, and not what was given up', async () => {
    await queue.schedule(db.pool, [
      task('now'),
      task('later', { dueAt: FUTURE }),
      task('elsewhere', { lane: 'b/send' }),
      task('lost', { lane: 'c' }),
      task('over', { lane: 'd' }),
    ]);
    await queue.claim('a/status', hold);
    const [lost] = await queue.claim('c', hold);
    await queue.settle(lost!, { kind: 'failed', error: 'no' });
    const [over] = await queue.claim('d', hold);
    await queue.settle(over!, { kind: 'done' });
    expect([await queue.readyCount(10), await queue.readyCount(2)]).toEqual([3, 2]);
  });

  it('joins the caller’s transaction', async () => {
    await expect(
      inTransaction(db.pool, async (tx) => {
        await queue.schedule(tx, [task('gone')]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await queue.claim('a/status', hold)).toEqual([]);
    await inTransaction(db.pool, (tx) => queue.schedule(tx, [task('gone')]));
    expect(await queue.claim('a/status', hold)).toHaveLength(1);
  });

  it('serves by priority, then due time, and never before the due time', async () => {
    const at = (seconds: number) => new Date(PAST.getTime() + seconds * 1_000);
    await queue.schedule(db.pool, [
      task('late', { dueAt: at(9) }),
      task('low', { priority: 900, dueAt: at(1) }),
      task('early', { dueAt: at(2) }),
      task('urgent', { priority: 1, dueAt: at(50) }),
      task('not yet', { priority: 0, dueAt: FUTURE }),
    ]);
    expect(keys(await queue.claim('a/status', { ...hold, limit: 2 }))).toEqual(['urgent', 'early']);
    expect(keys(await queue.claim('a/status', hold))).toEqual(['late', 'low']);
  });

  it('keeps lanes and kinds apart', async () => {
    await queue.schedule(db.pool, [task('1'), task('2', { lane: 'b/send' }), task('3', { kind: 'other' })]);
    const [a, b] = await Promise.all([
      queue.claim('a/status', { ...hold, kinds: ['read'] }),
      queue.claim('b/send', hold),
    ]);
    expect([keys(a), keys(b)]).toEqual([['1'], ['2']]);
    expect(keys(await queue.claim('a/status', hold))).toEqual(['3']);
  });

  it('gives no task to two claims, though they run together and over two processes', async () => {
    await queue.schedule(
      db.pool,
      Array.from({ length: 200 }, (_, i) => task(`t${i}`)),
    );
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? queue : other).claim('a/status', { ...hold, limit: 10, holder: `h${i}` }),
      ),
    );
    const all = claims.flat().map((one) => one.key);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBe(200);
  });

  it('marks what an expired lease left behind, for ever, and leaves the late holder without a say', async () => {
    await queue.schedule(db.pool, [task('x')]);
    const [lost] = await queue.claim('a/status', hold);
    await letLeasesExpire();
    const [again] = await other.claim('a/status', { ...hold, holder: 'two' });
    expect(again).toMatchObject({ key: 'x', attempts: 2, leaseExpiredBefore: true });
    expect(await queue.settle(lost!, { kind: 'done' })).toBe(false);
    expect(await queue.settle(again!, { kind: 'retry', delayMs: 0, countsAsAttempt: false })).toBe(true);
    const [third] = await queue.claim('a/status', hold);
    expect(third).toMatchObject({ attempts: 2, leaseExpiredBefore: true });
    expect(await other.settle(again!, { kind: 'done' })).toBe(false);
    expect(await queue.settle(third!, { kind: 'done' })).toBe(true);
  });

  it('settles mixed results together', async () => {
    await queue.schedule(
      db.pool,
      ['done', 'retry', 'later', 'failed'].map((key) => task(key)),
    );
    const claimed = new Map((await queue.claim('a/status', hold)).map((one) => [one.key, one]));
    const spy = jest.spyOn(db.pool, 'query');
    const answers = await Promise.all([
      queue.settle(claimed.get('done')!, { kind: 'done' }),
      queue.settle(claimed.get('retry')!, { kind: 'retry', delayMs: 0, error: 'reset' }),
      queue.settle(claimed.get('later')!, { kind: 'retry', delayMs: 600_000 }),
      queue.settle(claimed.get('failed')!, { kind: 'failed', error: 'no such document' }),
    ]);
    expect(spy.mock.calls.length).toBe(2);
    spy.mockRestore();
    expect(answers).toEqual([true, true, true, true]);
    expect(keys(await queue.claim('a/status', hold))).toEqual(['retry']);
    expect(await queue.queueFigures()).toMatchObject({ ready: 1, leased: 1, failed: 1 });
    expect(await queue.lanes()).toEqual([
      { lane: 'a/status', ready: 1, leased: 1, failed: 1, nextDueAt: expect.any(Date) },
    ]);
  });

  it.each([3_600_000, -3_600_000])(
    "counts a retry's delay and a claim by the database's clock, though this process is %d ms off",
    async (offMs) => {
      const now = Date.now.bind(Date);
      const skewed = jest.spyOn(Date, 'now').mockImplementation(() => now() + offMs);
      const databaseTime = async () =>
        (await db.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')).rows[0]!.now.getTime();
      await queue.schedule(db.pool, [task('x')]);
      const beforeMs = await databaseTime();
      const [claimed] = await queue.claim('a/status', hold);
      expect(await queue.settle(claimed!, { kind: 'retry', delayMs: 60_000 })).toBe(true);
      const afterMs = await databaseTime();
      skewed.mockRestore();
      const { rows } = await db.pool.query<{ due_at: Date }>('SELECT due_at FROM task');
      const [dueMs, claimedMs] = [rows[0]!.due_at.getTime(), claimed!.claimedAt.getTime()];
      expect({
        due: dueMs >= beforeMs + 60_000 && dueMs <= afterMs + 60_000,
        claimed: claimedMs >= beforeMs - 1 && claimedMs <= afterMs,
      }).toEqual({ due: true, claimed: true });
    },
  );

  it('keeps an error that no text of the database can hold, and settles the others beside it', async () => {
    await queue.schedule(db.pool, [task('strange'), task('other')]);
    const claimed = await queue.claim('a/status', hold);
    const settled = claimed.map((one) => queue.settle(one, { kind: 'failed', error: `${one.key}: \0 was said` }));
    expect(await Promise.all(settled)).toEqual([true, true]);
    const errors = (await queue.failedTasks()).map(({ error }) => error).sort();
    expect(errors).toEqual(['other: \uFFFD was said', 'strange: \uFFFD was said']);
  });

  it.each([-1, Number.NaN, Infinity])(
    'refuses to try a task again in %d ms, and settles the others',
    async (delayMs) => {
      await queue.schedule(db.pool, [task('good'), task('bad')]);
      const [good, bad] = await queue.claim('a/status', hold);
      const settled = await Promise.allSettled([
        queue.settle(good!, { kind: 'done' }),
        queue.settle(bad!, { kind: 'retry', delayMs }),
      ]);
      expect(settled).toMatchObject([
        { value: true },
        { reason: expect.objectContaining({ message: expect.stringContaining('cannot be tried again') }) },
      ]);
    },
  );

  it('serves tasks that are due together in the order in which they were scheduled, wherever their rows lie', async () => {
    const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `n${from + i}`);
    // By a plan that joins in the order of digests.
    await inTransaction(db.pool, async (tx) => {
      await tx.query('SET LOCAL enable_hashjoin = off');
      await queue.schedule(
        tx,
        names(0, 300).map((name) => task(name)),
      );
    });
    const first = await queue.claim('a/status', { ...hold, limit: 200 });
    expect(keys(first)).toEqual(names(0, 200));
    await Promise.all(first.map((one) => queue.settle(one, { kind: 'done' })));
    // New rows take the room of those that are gone, before the rows that are left.
    await db.pool.query('VACUUM task');
    await queue.schedule(
      db.pool,
      names(300, 500).map((name) => task(name)),
    );
    expect(keys(await queue.claim('a/status', { ...hold, limit: 250 }))).toEqual(names(200, 450));
  });

  it('tells which tasks are in turn: those behind no other that is due, whoever holds it', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await queue.schedule(
      db.pool,
      names.map((name) => task(name)),
    );
    const [a] = await queue.claim('a/status', { ...hold, limit: 1 });
    const [b] = await other.claim('a/status', { ...hold, limit: 1, holder: 'two' });
    const [c, d] = await queue.claim('a/status', hold);
    expect(keys(await queue.inTurn([a!, c!, d!], ['read']))).toEqual(['a']);
    expect(keys(await other.inTurn([b!], ['read']))).toEqual([]);
    await other.settle(b!, { kind: 'give_back' });
    expect(keys(await queue.inTurn([a!, c!, d!], ['read']))).toEqual(['a']);
    const [again] = await other.claim('a/status', { ...hold, holder: 'two' });
    await other.settle(again!, { kind: 'retry', delayMs: 60_000 });
    expect(keys(await queue.inTurn([a!, c!, d!], ['read']))).toEqual(['a', 'c', 'd']);
    expect(await queue.inTurn([], ['read'])).toEqual([]);
  });

  it('gives back a task that was not begun, with its place in the lane and without counting the claim', async () => {
    await queue.schedule(db.pool, [task('x')]);
    const [claimed] = await queue.claim('a/status', hold);
    expect(await queue.settle(claimed!, { kind: 'give_back' })).toBe(true);
    const [again] = await queue.claim('a/status', hold);
    expect(again).toMatchObject({ key: 'x', dueAt: PAST, attempts: 1, leaseExpiredBefore: false });
  });

  it('shows failed tasks and tries them again when an operator says so', async () => {
    await queue.schedule(db.pool, [task('bad')]);
    const [bad] = await queue.claim('a/status', hold);
    await queue.settle(bad!, { kind: 'failed', error: 'no such document' });
    expect(await queue.failedTasks()).toEqual([
      {
        key: 'bad',
        kind: 'read',
        lane: 'a/status',
        attempts: 1,
        failedAt: expect.any(Date),
        error: 'no such document',
        payload: { n: 'bad' },
      },
    ]);
    expect(await queue.retryFailed(['unknown'], 'x')).toBe(0);
    expect(await queue.retryFailed(['bad'], 'the registry was repaired')).toBe(1);
    expect(await queue.failedTasks()).toEqual([]);
    const [again] = await queue.claim('a/status', hold);
    expect(again).toMatchObject({ key: 'bad', attempts: 1 });
    const { rows } = await db.pool.query('SELECT last_error FROM task');
    expect(rows).toEqual([{ last_error: 'no such document | tried again: the registry was repaired' }]);
  });

  it('extends leases that are held and tells of those that are lost', async () => {
    await queue.schedule(db.pool, [task('1'), task('2')]);
    const [first] = await queue.claim('a/status', { ...hold, limit: 1 });
    await letLeasesExpire();
    await other.claim('a/status', { ...hold, limit: 1 });
    const [second] = await other.claim('a/status', { ...hold, limit: 1 });
    expect(await queue.extendLeases([first!, second!], 120_000)).toEqual([false, true]);
    const { rows } = await db.pool.query(
      `SELECT count(*)::int AS n FROM task WHERE lease_until > statement_timestamp() + interval '100 s'`,
    );
    expect(rows).toEqual([{ n: 1 }]);
  });

  it.each([
    ['an empty key', { key: '' }],
    ['a date that is none', { dueAt: new Date(NaN) }],
    ['a broken priority', { priority: 1.5 }],
    ['a payload without end', { payload: { long: 'x'.repeat(300_000) } }],
  ])('refuses %s', async (_, wrong) => {
    await expect(queue.schedule(db.pool, [task('fine'), task('wrong', wrong)])).rejects.toThrow(/task/);
    expect(await queue.claim('a/status', hold)).toEqual([]);
  });

  describe('waiting for work', () => {
    const never = new AbortController().signal;
    const longest = { maxWaitMs: 30_000, signal: never };

    it('ends at once when a task is due, and by notice when another process schedules one', async () => {
      await queue.schedule(db.pool, [task('1')]);
      await queue.waitForWork(['a/status'], longest);
      expect(await queue.claim('a/status', hold)).toHaveLength(1);
      const wait = queue.waitForWork(['a/status', 'b/send'], longest);
      await other.schedule(db.pool, [task('2', { lane: 'b/send' })]);
      await wait;
      expect(await queue.claim('b/send', hold)).toHaveLength(1);
    });

    it('ends when the earliest due time comes, also for a task that was scheduled meanwhile', async () => {
      expect(await queue.claim('a/status', hold)).toEqual([]);
      const wait = queue.waitForWork(['a/status'], longest);
      const { rows } = await db.pool.query(`SELECT clock_timestamp() + interval '150 ms' AS due`);
      await other.schedule(db.pool, [task('soon', { dueAt: rows[0].due }), task('far', { dueAt: FUTURE })]);
      await wait;
      const { rows: now } = await db.pool.query('SELECT clock_timestamp() AS now');
      expect(now[0].now.getTime()).toBeGreaterThanOrEqual(rows[0].due.getTime());
      expect(keys(await queue.claim('a/status', hold))).toEqual(['soon']);
    });

    it('ends after the longest wait, and on abort', async () => {
      await queue.schedule(db.pool, [task('far', { dueAt: FUTURE })]);
      await queue.waitForWork(['a/status'], { maxWaitMs: 30, signal: never });
      const stop = new AbortController();
      const wait = queue.waitForWork(['a/status'], { maxWaitMs: 30_000, signal: stop.signal });
      stop.abort();
      await wait;
      expect(await queue.claim('a/status', hold)).toEqual([]);
    });

    it('costs no query while nothing happens', async () => {
      await queue.schedule(db.pool, [task('far', { dueAt: FUTURE })]);
      // The listener is up once a notice has arrived.
      await queue.claim('a/status', hold);
      const heard = queue.waitForWork(['warm/up'], longest);
      await queue.schedule(db.pool, [task('warm', { lane: 'warm/up' })]);
      await heard;
      await queue.claim('a/status', hold);
      const spy = jest.spyOn(db.pool, 'query');
      await queue.waitForWork(['a/status'], { maxWaitMs: 50, signal: never });
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    });

    it('works though its LISTEN connection is cut', async () => {
      const pool = openPool({ connectionString: db.url, maxConnections: 2 });
      const mine = new PostgresTaskQueue({ pool, fallbackMs: 20 });
      try {
        await mine.claim('c/x', hold);
        await mine.waitForWork(['c/x'], { maxWaitMs: 50, signal: never });
        await db.pool.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ' +
            `'pedigree-tasks-listen' AND datname = current_database()`,
        );
        const wait = mine.waitForWork(['c/x'], longest);
        await queue.schedule(db.pool, [task('after the cut', { lane: 'c/x' })]);
        await wait;
        expect(await mine.claim('c/x', hold)).toHaveLength(1);
      } finally {
        await mine.close();
        await pool.end();
      }
    });
  });
});
