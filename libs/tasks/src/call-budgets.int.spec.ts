import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock, VirtualClock } from '#kernel';
import { openPool } from '#postgres';
import type { Pool } from '#postgres';
import { testDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import type { CallBudgetsOptions } from './budget-options.js';
import { PostgresCallBudgets } from './call-budgets.js';
import { tasksSchema } from './schema.js';

const INTERVAL_MS = 20;

describe('the call budgets', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  let secondPool: Pool;

  beforeAll(async () => {
    db = await testDatabase([tasksSchema]);
    secondPool = openPool({ connectionString: db.url, maxConnections: 3 });
  });
  beforeEach(() => db.pool.query('TRUNCATE call_budget'));
  afterEach(async () => {
    jest.restoreAllMocks();
    // What is given back in the background must not meet the next test's reservations, which have the same numbers.
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });
  afterAll(async () => {
    await secondPool?.end();
    await db?.drop();
  });

  const opened: PostgresCallBudgets[] = [];
  const budgets = (more: Partial<CallBudgetsOptions> = {}) => {
    const one = new PostgresCallBudgets({
      pool: db.pool,
      intervalsMs: () => INTERVAL_MS,
      guardMs: 3,
      slotSlackMs: 4,
      maxIntervalMs: 60_000,
      ...more,
    });
    opened.push(one);
    return one;
  };
  /** Reserves however far ahead, so that a test with a clock that stands still can look at the reservation. */
  const FAR = { horizonMs: 7_200_000 };
  const rowOf = async (account = 'a', method = 'send') => {
    const text = `SELECT *, extract(epoch FROM next_allowed_at - clock_timestamp())::float8 * 1000 AS blocked_ms,
      extract(epoch FROM next_allowed_at - slot_at)::float8 * 1000 AS step_ms FROM call_budget WHERE account = $1
        AND method = $2`;
    return (await db.pool.query(text, [account, method])).rows[0];
  };
  /** Moments of calls, and the smallest distance between two of them. */
  const callTogether = async (callers: PostgresCallBudgets[], callsEach: number, account = 'a') => {
    const moments: number[] = [];
    const call = async (one: PostgresCallBudgets) => {
      await one.takeSlot(account, 'send');
      // The moment of the grant: what this test does after it may be late by any time.
      moments.push(one.figures().find((figures) => figures.account === account)!.lastCallMonotonicMs);
    };
    await Promise.all(callers.map((one) => Promise.all(Array.from({ length: callsEach }, () => call(one)))));
    moments.sort((x, y) => x - y);
    return { moments, nearestMs: Math.min(...moments.slice(1).map((moment, i) => moment - moments[i]!)) };
  };

  it('lets no two calls of one process come nearer than the interval', async () => {
    const { moments, nearestMs } = await callTogether([budgets()], 12);
    expect(moments).toHaveLength(12);
    expect(nearestMs).toBeGreaterThanOrEqual(INTERVAL_MS);
  });

  it('lets no two calls of two processes come nearer than the interval', async () => {
    const { moments, nearestMs } = await callTogether(
      [budgets({ guardMs: 8 }), budgets({ guardMs: 8, pool: secondPool })],
      10,
    );
    expect(moments).toHaveLength(20);
    expect(nearestMs).toBeGreaterThanOrEqual(INTERVAL_MS);
  });

  it('reserves a run of slots where many wait, and keeps the interval within it', async () => {
    const one = budgets();
    const { moments, nearestMs } = await callTogether([one], 17);
    expect(moments).toHaveLength(17);
    expect(nearestMs).toBeGreaterThanOrEqual(INTERVAL_MS);
    // Three runs of eight at most would do; what the machine was late is reserved anew.
    expect(Number((await rowOf()).reservation)).toBeLessThan(17);
  });

  it('gives the rest of a run back when nobody wants it any more, so that another process need not wait for it', async () => {
    const intervalMs = 20_000;
    const [one, other] = [
      budgets({ intervalsMs: () => intervalMs }),
      budgets({ intervalsMs: () => intervalMs, pool: secondPool }),
    ];
    const stop = new AbortController();
    const [first, ...rest] = Array.from({ length: 8 }, (_, i) =>
      one.takeSlot('a', 'send', i === 0 ? undefined : stop.signal),
    );
    await first;
    expect((await rowOf()).blocked_ms).toBeGreaterThan(7 * intervalMs);
    stop.abort(new Error('no longer'));
    expect((await Promise.allSettled(rest)).map(({ status }) => status)).toEqual(rest.map(() => 'rejected'));
    await reserved(2);
    expect((await rowOf()).blocked_ms).toBeLessThan(intervalMs + 100);
    const leave = new AbortController();
    const next = other.takeSlot('a', 'send', leave.signal);
    await reserved(3);
    expect((await rowOf()).blocked_ms).toBeLessThan(2 * intervalMs + 200);
    leave.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  it('gives the rest of a run back after a 429: the next call waits for the interval that was told and no longer', async () => {
    // Nobody waits for these: what is looked at is the reservation.
    const one = budgets({ intervalsMs: () => 30_000 });
    const stop = new AbortController();
    const waiting = Array.from({ length: 8 }, () => one.takeSlot('a', 'send', stop.signal));
    const settled = Promise.allSettled(waiting);
    await waiting[0];
    const { slot_at: first, blocked_ms: blockedMs } = await rowOf();
    expect(blockedMs).toBeGreaterThan(180_000);
    await one.learnFrom429('a', 'send', { intervalMs: 50_000 });
    const { slot_at: next } = await reserved(3);
    expect(next.getTime() - first.getTime()).toBeGreaterThanOrEqual(50_000);
    expect(next.getTime() - first.getTime()).toBeLessThan(90_000);
    stop.abort(new Error('enough'));
    await settled;
  });

  it('gives the rest of a run up when another process meets a 429, and waits no longer than that says', async () => {
    const [one, other] = [
      budgets({ intervalsMs: () => 30_000, listens: true }),
      budgets({ intervalsMs: () => 30_000, pool: secondPool }),
    ];
    await until('its ear', () => one.hears);
    const stop = new AbortController();
    const waiting = Array.from({ length: 8 }, () => one.takeSlot('a', 'send', stop.signal));
    const settled = Promise.allSettled(waiting);
    await waiting[0];
    const { slot_at: first, blocked_ms: blockedMs } = await rowOf();
    expect(blockedMs).toBeGreaterThan(180_000);
    await other.learnFrom429('a', 'send', { intervalMs: 40_000 });
    // The 429 counts as the second: the third is the run that takes the place of the one that was given up, and not one
    // behind it.
    const { slot_at: next } = await reserved(3);
    expect(next.getTime() - first.getTime()).toBeGreaterThanOrEqual(40_000);
    expect(next.getTime() - first.getTime()).toBeLessThan(80_000);
    stop.abort(new Error('enough'));
    await settled;
    await one.close();
  });

  it('calls no more before the moment that a 429 of another process told', async () => {
    const [one, other] = [
      budgets({ intervalsMs: () => 1_000, listens: true }),
      budgets({ intervalsMs: () => 1_000, pool: secondPool }),
    ];
    await until('its ear', () => one.hears);
    const moments: number[] = [];
    const call = async (): Promise<void> => {
      await one.takeSlot('a', 'send');
      moments.push(one.figures()[0]!.lastCallMonotonicMs);
    };
    const calls = [call(), call(), call()];
    await calls[0];
    await other.learnFrom429('a', 'send', { retryAfterMs: 2_000 });
    const toldMs = performance.now();
    await Promise.all(calls);
    // On a busy machine the 429 may be told later than the second call.
    const later = moments.filter((moment) => moment > toldMs);
    expect(later[0]! - toldMs).toBeGreaterThan(1_900);
    expect(Math.min(...later.slice(1).map((moment, i) => moment - later[i]!))).toBeGreaterThanOrEqual(1_000);
    await one.close();
  });

  it('lets no call go while the one before waits for its connection, and counts from its write', async () => {
    const one = budgets({ intervalsMs: () => 20, guardMs: 0 });
    await one.takeSlot('a', 'send');
    const written = one.writing('a', 'send');
    let granted = false;
    const second = one.takeSlot('a', 'send').then(() => (granted = true));
    await systemClock.wait(300);
    expect(granted).toBe(false);
    const writtenMs = performance.now();
    one.called('a', 'send');
    written();
    await second;
    expect(performance.now() - writtenMs).toBeGreaterThanOrEqual(20);
  });

  it('moves the row on when a call is written long after its slot, so that other processes keep their distance too', async () => {
    const clock = new VirtualClock();
    const one = budgets({ clock, intervalsMs: () => 5_000 });
    await one.takeSlot('a', 'send');
    const before = Number((await rowOf()).blocked_ms);
    // The connection had to come up first.
    clock.advance(2_000);
    one.called('a', 'send');
    while (Number((await rowOf()).blocked_ms) < before + 1_500) await new Promise(setImmediate);
    expect((await rowOf()).blocked_ms).toBeLessThan(before + 2_100);
  });

  it('counts each account and method for itself', async () => {
    const one = budgets({ intervalsMs: () => 5_000 });
    await Promise.all([one.takeSlot('a', 'send'), one.takeSlot('b', 'send'), one.takeSlot('a', 'status')]);
    expect(
      one.figures().map(({ account, method, calls, intervalMs }) => ({ account, method, calls, intervalMs })),
    ).toEqual([
      { account: 'a', method: 'send', calls: 1, intervalMs: 5_000 },
      { account: 'b', method: 'send', calls: 1, intervalMs: 5_000 },
      { account: 'a', method: 'status', calls: 1, intervalMs: 5_000 },
    ]);
  });

  /**
   * A clock of our own stands still, so only `advance` decides when a slot is reached; the row shows what was reserved.
   */
  const reserved = async (count: number) => {
    let row = await rowOf();
    while (row === undefined || Number(row.reservation) < count) row = await rowOf();
    return row;
  };
  const turns = async () => {
    for (let i = 0; i < 30_000; i += 1) await new Promise(setImmediate);
  };

  it('drops a slot that it reached too late and takes another', async () => {
    await db.pool.query(
      `INSERT INTO call_budget (account, method, slot_at, next_allowed_at) VALUES ('a', 'send', now(), now() + ` +
        `interval '1 hour')`,
    );
    const clock = new VirtualClock();
    const one = budgets({ ...FAR, clock, intervalsMs: () => 1_000 });
    const granted = jest.fn();
    const call = one.takeSlot('a', 'send').then(granted);
    await reserved(2);
    await turns();
    // Nobody queued behind the slot, so it is taken again by the database's clock, which has not moved that far.
    clock.advance(3_600_005);
    const again = await reserved(3);
    expect(granted).not.toHaveBeenCalled();
    expect(again.step_ms).toBeCloseTo(1_003, 1);
    await turns();
    // The hour less what the test itself has taken is left, and that may be long on a busy machine: nearly all of it at
    // once, the rest in steps below the slack.
    const { blocked_ms: blockedMs, step_ms: stepMs } = await rowOf();
    clock.advance(blockedMs - stepMs - 1_000);
    for (let i = 0; i < 120_000 && granted.mock.calls.length === 0; i += 1) {
      clock.advance(1);
      await new Promise(setImmediate);
    }
    await call;
    expect(one.figures()[0]).toMatchObject({ calls: 1, droppedSlots: 1 });
  });

  it('loses its place when another process queued behind the slot that it dropped', async () => {
    await db.pool.query(
      `INSERT INTO call_budget (account, method, slot_at, next_allowed_at) VALUES ('a', 'send', now(), now() + ` +
        `interval '1 hour')`,
    );
    const [clock, otherClock] = [new VirtualClock(), new VirtualClock()];
    const stop = new AbortController();
    const call = budgets({ ...FAR, clock, intervalsMs: () => 1_000 }).takeSlot('a', 'send', stop.signal);
    const mine = await reserved(2);
    const behind = budgets({ ...FAR, clock: otherClock, intervalsMs: () => 1_000, pool: secondPool }).takeSlot(
      'a',
      'send',
      stop.signal,
    );
    await reserved(3);
    await turns();
    clock.advance(3_600_005);
    const { slot_at: again } = await reserved(4);
    expect(again.getTime() - mine.slot_at.getTime()).toBeCloseTo(2 * 1_003, -1);
    stop.abort(new Error('enough'));
    expect(await Promise.allSettled([call, behind])).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  });

  it('never grants before the slot, however long it waits by its own clock', async () => {
    await db.pool.query(
      `INSERT INTO call_budget (account, method, slot_at, next_allowed_at) VALUES ('a', 'send', now(), now() + ` +
        `interval '1 hour')`,
    );
    const clock = new VirtualClock();
    const granted = jest.fn();
    const stop = new AbortController();
    const call = budgets({ ...FAR, clock })
      .takeSlot('a', 'send', stop.signal)
      .then(granted, granted);
    await reserved(2);
    for (let i = 0; i < 10; i += 1) {
      clock.advance(300_000);
      await new Promise(setImmediate);
    }
    expect(granted).not.toHaveBeenCalled();
    stop.abort(new Error('stopped'));
    await call;
    expect(granted).toHaveBeenCalledWith(new Error('stopped'));
  });

  it('gives a slot back that nobody wants any more', async () => {
    const one = budgets({ ...FAR, intervalsMs: () => 3_600_000 });
    await one.takeSlot('a', 'send');
    const { next_allowed_at: before } = await rowOf();
    const stop = new AbortController();
    const call = one.takeSlot('a', 'send', stop.signal);
    await reserved(2);
    stop.abort(new Error('no longer'));
    await expect(call).rejects.toThrow('no longer');
    // What the first call held open for its answer, 50 ms at most, is given back too, before or after that.
    await until('the slot is given back', async () => (await rowOf()).next_allowed_at <= before);
    const givenBackMs = before.getTime() - (await rowOf()).next_allowed_at.getTime();
    expect(givenBackMs).toBeLessThanOrEqual(51);
  });

  it('hands a slot to the next when its caller gave up', async () => {
    // Long enough that its caller gives up before the slot comes, on a busy machine too.
    const one = budgets({ intervalsMs: () => 2_000 });
    await one.takeSlot('a', 'send');
    const stop = new AbortController();
    const leaver = one.takeSlot('a', 'send', stop.signal);
    const next = one.takeSlot('a', 'send');
    await reserved(2);
    stop.abort(new Error('left'));
    await expect(leaver).rejects.toThrow('left');
    await next;
    const figures = one.figures()[0]!;
    expect(figures.calls).toBe(2);
    expect(Number((await rowOf()).reservation)).toBe(2 + figures.droppedSlots);
  });

  it('refuses a call whose signal is aborted already, a queue without end, and passes on what the database says', async () => {
    await expect(budgets().takeSlot('a', 'send', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    const few = budgets({ mostWaiting: 1 });
    const first = few.takeSlot('a', 'send');
    await expect(few.takeSlot('a', 'send')).rejects.toMatchObject({ code: 'unavailable' });
    await first;
    const broken = budgets();
    jest.spyOn(db.pool, 'query').mockImplementation((() => Promise.reject(new Error('the database is away'))) as never);
    await expect(broken.takeSlot('a', 'send')).rejects.toThrow('the database is away');
    jest.restoreAllMocks();
    await broken.takeSlot('a', 'send');
  });

  it('refuses those who wait when it closes, and has given back what was reserved for them', async () => {
    const one = budgets({ intervalsMs: () => 20_000 });
    const [first, ...rest] = Array.from({ length: 8 }, () => one.takeSlot('a', 'send'));
    const refused = Promise.allSettled(rest);
    await first;
    await one.close();
    expect((await rowOf()).blocked_ms).toBeLessThan(20_100);
    expect(await refused).toEqual(
      rest.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: 'unavailable' }) })),
    );
  });

  describe('without an interval', () => {
    const free = (more: Partial<CallBudgetsOptions> = {}) => budgets({ intervalsMs: () => 0, ...more });

    it('costs no query beyond one look for what others learnt', async () => {
      const clock = new VirtualClock();
      const one = free({ clock });
      const spy = jest.spyOn(db.pool, 'query');
      for (let i = 0; i < 1_000; i += 1) await one.takeSlot('a', 'send');
      expect(spy).toHaveBeenCalledTimes(1);
      clock.advance(1_000);
      for (let i = 0; i < 1_000; i += 1) await one.takeSlot('a', 'send');
      expect(spy).toHaveBeenCalledTimes(2);
      expect(one.figures()[0]).toMatchObject({ calls: 2_000, intervalMs: 0 });
    });

    it('keeps the interval that a 429 told, and so do processes that look later', async () => {
      const [one, other] = [free(), free({ pool: secondPool, refreshMs: 0 })];
      await Promise.all([one.takeSlot('a', 'send'), other.takeSlot('a', 'send')]);
      await one.learnFrom429('a', 'send', { intervalMs: INTERVAL_MS });
      await other.takeSlot('b', 'send');
      while (other.figures()[0]?.intervalMs !== INTERVAL_MS) {
        await other.takeSlot('b', 'send');
        await new Promise(setImmediate);
      }
      const { nearestMs } = await callTogether([one, other], 6);
      expect(nearestMs).toBeGreaterThanOrEqual(INTERVAL_MS);
    });

    it('waits after a 429 that told nothing', async () => {
      const one = free();
      await one.takeSlot('a', 'send');
      const calledAt = performance.now();
      await one.learnFrom429('a', 'send', {});
      await one.takeSlot('a', 'send');
      expect(performance.now() - calledAt).toBeGreaterThanOrEqual(99);
      expect(one.figures()[0]).toMatchObject({ intervalMs: 100, rateLimited: 1 });
    });
  });

  describe('after a 429', () => {
    it('counts the delay from the last request', async () => {
      const one = budgets({ intervalsMs: () => 100 });
      await one.takeSlot('a', 'send');
      const calledAt = performance.now();
      await one.learnFrom429('a', 'send', { intervalMs: 300 });
      await one.takeSlot('a', 'send');
      const waitedMs = performance.now() - calledAt;
      expect(waitedMs).toBeGreaterThanOrEqual(299);
      expect(one.figures()[0]).toMatchObject({ intervalMs: 300 });
      // The guard has grown from 3 ms to 6.
      expect(await rowOf()).toMatchObject({ learnt_interval_ms: 300, extra_guard_ms: 3 });
      expect((await rowOf()).step_ms).toBeGreaterThanOrEqual(305.9);
    });

    it('backs off 100, 200, 400 ms while 429s follow each other, up to the limit, and begins anew after a calm', async () => {
      const one = budgets({ intervalsMs: () => 10, maxIntervalMs: 1_000 });
      const delays: number[] = [];
      for (let i = 0; i < 6; i += 1) {
        // As after one more reservation a moment ago.
        await db.pool.query(
          `UPDATE call_budget SET quiet_calls = 1, slot_at = clock_timestamp(), next_allowed_at = clock_timestamp()`,
        );
        await one.learnFrom429('a', 'send', {});
        // Counted from the call, however late the test looks.
        delays.push(Math.round((await rowOf()).step_ms));
      }
      expect(delays.slice(1)).toEqual([200, 400, 800, 1_000, 1_000]);
      await db.pool.query(
        `UPDATE call_budget SET quiet_calls = 50, slot_at = clock_timestamp(), next_allowed_at = clock_timestamp()`,
      );
      await one.learnFrom429('a', 'send', {});
      expect((await rowOf()).refusals).toBe(1);
    });

    it('counts several 429s of one burst once', async () => {
      const one = budgets();
      await one.takeSlot('a', 'send');
      await Promise.all(Array.from({ length: 5 }, () => one.learnFrom429('a', 'send', {})));
      expect(await rowOf()).toMatchObject({ refusals: 1, extra_guard_ms: 3 });
      expect(one.figures()[0]).toMatchObject({ rateLimited: 5 });
    });

    it('honours Retry-After, cuts what is beyond reason, and ignores an interval below the profile’s', async () => {
      const one = budgets();
      await one.learnFrom429('a', 'send', { retryAfterMs: 50_000, intervalMs: 1 });
      const row = await rowOf();
      expect(row.blocked_ms).toBeGreaterThan(40_000);
      expect(row.learnt_interval_ms).toBeNull();
      await one.learnFrom429('b', 'send', { intervalMs: 1e12 });
      expect(await rowOf('b')).toMatchObject({ learnt_interval_ms: 60_000 });
    });

    it('grows the guard to a cap, and relaxes guard and learnt interval slowly', async () => {
      const one = budgets({ intervalsMs: () => 1, guardMs: 1, mostExtraGuardMs: 10, maxIntervalMs: 100 });
      for (let i = 0; i < 6; i += 1) {
        await one.learnFrom429('a', 'send', { intervalMs: 2 });
        await db.pool.query('UPDATE call_budget SET quiet_calls = 1');
      }
      expect(await rowOf()).toMatchObject({ extra_guard_ms: 10, learnt_interval_ms: 2 });
      const soon = `next_allowed_at = clock_timestamp(), slot_at = clock_timestamp() - interval '1 s'`;
      await db.pool.query(`UPDATE call_budget SET quiet_calls = 98, ${soon}`);
      await one.takeSlot('a', 'send');
      expect(await rowOf()).toMatchObject({ extra_guard_ms: 10, learnt_interval_ms: 2 });
      await one.takeSlot('a', 'send');
      expect(await rowOf()).toMatchObject({ extra_guard_ms: 9, learnt_interval_ms: 2 });
      await db.pool.query(`UPDATE call_budget SET quiet_calls = 499, extra_guard_ms = 0.5, ${soon}`);
      await one.takeSlot('a', 'send');
      expect(await rowOf()).toMatchObject({ extra_guard_ms: 0, learnt_interval_ms: 1.9 });
      await db.pool.query(`UPDATE call_budget SET quiet_calls = 999, learnt_interval_ms = 1.01, ${soon}`);
      await one.takeSlot('a', 'send');
      expect(await rowOf()).toMatchObject({ learnt_interval_ms: null });
      expect(one.figures()[0]).toMatchObject({ intervalMs: 1 });
    });
  });
});
