import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { openPool, type Transaction } from '#postgres';
import { dropCheckpoint, moveCheckpoint, subscriptionLag } from './checkpoint.js';
import { testDatabase } from '../../../test/support/database.js';
import { catchUp, runSubscription, type SubscriptionOptions, type SubscriptionTrouble } from './runner.js';
import {
  HARNESS_SCHEMAS,
  countingStore,
  makeHarness,
  numberOf,
  takeEffect,
  type TestHarness,
  upTo,
  watchedPool,
  whenPosition,
} from '../test/test-harness.js';

describe('runSubscription', () => {
  let harness: TestHarness;
  let end: AbortController;
  let running: Promise<void>[];
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
    end = new AbortController();
    running = [];
  });
  afterEach(async () => {
    end.abort();
    await Promise.all(running);
    await harness.stop();
  });

  /** Starts a runner of the one subscription `trial`; resolves once everything in the log is handled. */
  async function runToEnd(options: Partial<SubscriptionOptions> = {}): Promise<void> {
    const { reached, onBatch } = whenPosition(await harness.store.head());
    start({ ...options, onBatch });
    await reached;
  }
  function start(options: Partial<SubscriptionOptions> = {}): { ended: Promise<void> } {
    const ended = runSubscription({
      store: harness.store,
      pool: harness.pool,
      name: 'trial',
      handle: takeEffect,
      signal: end.signal,
      retryFirstDelayMs: 1,
      minPageIntervalMs: 0,
      ...options,
    });
    running.push(ended);
    return { ended };
  }

  it('handles each event once and in order, page by page', async () => {
    await harness.note(upTo(57));
    const pages: number[] = [];
    await runToEnd({
      batchSize: 10,
      handle: (events, tx) => {
        pages.push(events.length);
        return takeEffect(events, tx);
      },
    });
    expect(await harness.effects()).toEqual(upTo(57));
    expect(pages).toEqual([10, 10, 10, 10, 10, 7]);
  });

  it('goes on from its checkpoint when it is started again, and follows what is new', async () => {
    await harness.note([0, 1, 2]);
    await runToEnd();
    end.abort();
    await Promise.all(running);
    end = new AbortController();
    await harness.note([3, 4]);
    await runToEnd();
    const more = whenPosition((await harness.store.head()) + 1n);
    expect(await harness.effects()).toEqual([0, 1, 2, 3, 4]);
    end.abort();
    await Promise.all(running);
    end = new AbortController();
    start({ onBatch: more.onBatch });
    await harness.note([5]);
    await more.reached;
    expect(await harness.effects()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('handles only what its filter asks for, and its checkpoint passes the rest', async () => {
    await harness.note([1], { prefix: 'mine' });
    await harness.note([2, 3], { prefix: 'other' });
    await runToEnd({ filter: { streamPrefixes: ['mine-'] } });
    expect(await harness.effects()).toEqual([1]);
    expect(await subscriptionLag(harness.pool, harness.store)).toMatchObject([
      { name: 'trial', position: 3n, lag: 0n },
    ]);
  });

  it('rolls a failed page back and repeats it: no event takes effect twice', async () => {
    await harness.note(upTo(20));
    const failing = new Set([0, 1, 3]);
    let call = 0;
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      await takeEffect(events, tx);
      if (failing.has(call++)) throw new Error('after the work, before the commit');
    };
    await runToEnd({ batchSize: 8, handle });
    expect(call).toBeGreaterThan(5);
    expect(await harness.effects()).toEqual(upTo(20));
  });

  it('survives the end of its connection in the middle of a page', async () => {
    await harness.note(upTo(12));
    let kills = 0;
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      await takeEffect(events, tx);
      if (kills++ >= 2) return;
      const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await harness.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    };
    const troubles: SubscriptionTrouble[] = [];
    await runToEnd({ batchSize: 5, handle, onError: (_, trouble) => troubles.push(trouble) });
    expect(await harness.effects()).toEqual(upTo(12));
    expect(troubles.map((trouble) => trouble.kind)).toEqual(['subscription_failed', 'subscription_failed']);
  });

  it('sees from its checkpoint that a commit went through whose answer was lost', async () => {
    await harness.note(upTo(12));
    let losses = 3;
    const pool = watchedPool(harness.pool, (text) => {
      if (text === 'COMMIT' && losses-- > 0) throw new Error('the answer was lost');
    });
    await runToEnd({ pool, batchSize: 5, standbyPollMs: 1 });
    expect(losses).toBeLessThanOrEqual(0);
    expect(await harness.effects()).toEqual(upTo(12));
  });

  it('lets everything before a bad event pass, names that event, says halted, and goes on when it is mended', async () => {
    await harness.note(upTo(100));
    const troubles: SubscriptionTrouble[] = [];
    let isMended = false;
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      await takeEffect(events, tx);
      if (!isMended && events.some((event) => numberOf(event) === 70)) throw new Error('bad event');
    };
    const halted = new Promise<void>((resolve) => {
      start({
        handle,
        retryMaxDelayMs: 2,
        haltedAfterAttempts: 5,
        onError: (_, trouble) => troubles.push(trouble) && trouble.kind === 'subscription_halted' && resolve(),
      });
    });
    await halted;
    expect(await harness.effects()).toEqual(upTo(70));
    // It is tried on while the test looks, and told each time.
    expect(troubles.find((trouble) => trouble.kind === 'subscription_halted')).toMatchObject({
      ...{ name: 'trial', from: 71n, to: 71n },
      ...{ attempt: 5, retryInMs: 2 },
    });
    isMended = true;
    await runUntilEffects(100);
    expect(await harness.effects()).toEqual(upTo(100));
  });

  it('fails seldom where no page of that size can be worked, and takes whole pages again where they can', async () => {
    await harness.note(upTo(200));
    const parts: { events: number; isWorked: boolean }[] = [];
    let most = 10;
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      const isWorked = events.length <= most;
      parts.push({ events: events.length, isWorked });
      if (!isWorked) throw new Error('the transaction lasted too long');
      await takeEffect(events, tx);
    };
    await runToEnd({ handle });
    const failed = parts.filter((one) => !one.isWorked);
    // 200, 25, and then what comes after 4 and 8.
    expect(failed.map(({ events }) => events)).toEqual([200, 25, ...failed.slice(2).map(() => 16)]);
    expect(failed.length).toBeLessThan(parts.length / 3);
    const before = parts.length;
    most = Infinity;
    await harness.note(Array.from({ length: 300 }, (_, n) => 200 + n));
    await runUntilEffects(500);
    expect(await harness.effects()).toEqual(upTo(500));
    expect(Math.max(...parts.slice(before).map(({ events }) => events))).toBeGreaterThan(16);
  });

  async function runUntilEffects(count: number): Promise<void> {
    for (let n = 0; n < 10_000 && (await harness.effects()).length < count; n += 1)
      await new Promise((resolve) => setImmediate(resolve));
  }

  it('waits longer after each failure, up to the limit', async () => {
    await harness.note([1]);
    const delays: number[] = [];
    const done = new Promise<void>((resolve) => {
      start({
        handle: () => Promise.reject(new Error('never')),
        retryFirstDelayMs: 1,
        retryMaxDelayMs: 6,
        onError: (_, trouble) => delays.push(trouble.retryInMs) === 6 && resolve(),
      });
    });
    await done;
    end.abort();
    expect(delays.slice(0, 6)).toEqual([1, 2, 4, 6, 6, 6]);
  });

  it('lets one of two work while the other stands by, and hands over when the first ends', async () => {
    await harness.note(upTo(40));
    const [first, second] = [new AbortController(), new AbortController()];
    const by: Record<string, number[]> = { first: [], second: [] };
    const handleAs = (who: string) => async (events: RecordedEvent[], tx: Transaction) => {
      await takeEffect(events, tx);
      by[who]?.push(...events.map(numberOf));
    };
    const half = whenPosition(40n);
    const one = start({ signal: first.signal, handle: handleAs('first'), batchSize: 3, onBatch: half.onBatch });
    await half.reached;
    const standing = countingStore(harness.store);
    const all = whenPosition(80n);
    const two = start({
      store: standing.store,
      signal: second.signal,
      handle: handleAs('second'),
      batchSize: 3,
      standbyPollMs: 20,
      onBatch: all.onBatch,
    });
    first.abort();
    await one.ended;
    await harness.note(upTo(80).slice(40));
    await all.reached;
    second.abort();
    await two.ended;
    expect(by).toEqual({ first: upTo(40), second: upTo(80).slice(40) });
    expect(await harness.effects()).toEqual(upTo(80));
  });

  it('handles each event once when four runners race for one name', async () => {
    const pools = upTo(4).map(() => openPool({ connectionString: harness.url, maxConnections: 2 }));
    const done = whenPosition(300n);
    for (const pool of pools) start({ pool, batchSize: 7, leaseMs: 1, standbyPollMs: 1, onBatch: done.onBatch });
    for (const n of upTo(30)) await harness.note(upTo(10).map((k) => n * 10 + k));
    await done.reached;
    end.abort();
    await Promise.all(running);
    await Promise.all(pools.map((pool) => pool.end()));
    expect(await harness.effects()).toEqual(upTo(300));
  });

  it('stands by without reading the log while another holds the subscription', async () => {
    await harness.note(upTo(5));
    const working = whenPosition(55n);
    const begun = whenPosition(5n);
    start({
      leaseMs: 60_000,
      onBatch: (batch) => {
        begun.onBatch(batch);
        working.onBatch(batch);
      },
    });
    await begun.reached;
    const standing = countingStore(harness.store);
    start({ store: standing.store, standbyPollMs: 5, handle: () => Promise.reject(new Error('must not work')) });
    for (const n of upTo(50)) await harness.note([5 + n]);
    await working.reached;
    expect(standing.pages()).toBe(0);
    expect(await harness.effects()).toEqual(upTo(55));
  });

  it('takes over from a process that died, once its lease has run out', async () => {
    await harness.note([0, 1]);
    await catchUp({ store: harness.store, pool: harness.pool, name: 'trial', handle: takeEffect });
    await moveCheckpoint(harness.pool, 'trial', { position: 2n, holder: 'dead', leaseMs: 150 });
    await harness.note([2]);
    await runToEnd({ standbyPollMs: 10 });
    expect(await harness.effects()).toEqual([0, 1, 2]);
  });

  it('begins anew when its checkpoint is dropped, also under a runner', async () => {
    await harness.note([0, 1]);
    await runToEnd({ standbyPollMs: 1 });
    await dropCheckpoint(harness.pool, 'trial');
    await harness.note([2]);
    await runUntilEffects(5);
    expect(await harness.effects()).toEqual([0, 1, 0, 1, 2]);
  });

  it('ends at once on abort, in a wait and in a back-off', async () => {
    const idle = start();
    await harness.note([1]);
    const failed = new Promise<void>((resolve) => {
      start({
        name: 'failing',
        handle: () => Promise.reject(new Error('no')),
        retryFirstDelayMs: 3_600_000,
        retryMaxDelayMs: 3_600_000,
        onError: () => resolve(),
      });
    });
    await failed;
    end.abort();
    await Promise.all([idle.ended, ...running]);
  });
});

describe('catchUp', () => {
  let harness: TestHarness;
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
  });
  afterEach(() => harness.stop());

  it('works up to the head and returns; a second call has nothing to do', async () => {
    await harness.note(upTo(25));
    const options = { store: harness.store, pool: harness.pool, name: 'trial', batchSize: 10, handle: takeEffect };
    expect(await catchUp(options)).toBe(25n);
    expect(await catchUp({ ...options, handle: () => Promise.reject(new Error('nothing is new')) })).toBe(25n);
    expect(await harness.effects()).toEqual(upTo(25));
  });

  it('throws what the handler throws and keeps the pages before', async () => {
    await harness.note(upTo(25));
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      await takeEffect(events, tx);
      if (events.some((event) => numberOf(event) === 15)) throw new Error('fifteen');
    };
    await expect(
      catchUp({ store: harness.store, pool: harness.pool, name: 'trial', batchSize: 10, handle }),
    ).rejects.toThrow('fifteen');
    expect(await harness.effects()).toEqual(upTo(10));
    expect(await subscriptionLag(harness.pool, harness.store)).toEqual([
      { name: 'trial', position: 10n, lag: 15n, unit: 'event', updatedAt: expect.any(Date) },
    ]);
  });
});
