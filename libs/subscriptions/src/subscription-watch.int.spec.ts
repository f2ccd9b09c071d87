import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import { SubscriptionWatch } from './subscription-watch.js';
import { moveCheckpoint, openCheckpoint, releaseCheckpoint } from './checkpoint.js';
import { runSubscription } from './runner.js';
import { HARNESS_SCHEMAS, makeHarness, numberOf, takeEffect, type TestHarness } from '../test/test-harness.js';

const trouble = { name: 'trial', kind: 'subscription_failed', attempt: 1, retryInMs: 100 } as const;
const logged: [unknown, string][] = [];
const log = { error: (fields: object, message: string): void => void logged.push([fields, message]) };

describe('the list of failing subscriptions', () => {
  it('names each once, with how often, since when, where and why; health shows those that halted, and the log all', () => {
    const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    const watch = new SubscriptionWatch({ log, clock });
    watch.callbacks.onError(new Error('no such column'), { ...trouble, from: 4n, to: 9n });
    clock.advance(1_000);
    watch.callbacks.onError(Object.assign(new Error(''), { code: 'ECONNREFUSED' }), { ...trouble, name: 'other' });
    watch.callbacks.onError(new Error('no such table'), {
      ...trouble,
      kind: 'subscription_halted',
      attempt: 8,
      from: 4n,
      to: 4n,
    });
    const reason = 'failed 8 times in a row, last at position 4: no such table';
    expect(watch.failing()).toEqual([
      { name: 'trial', isHalted: true, since: new Date('2026-03-01T10:00:00Z'), reason },
      {
        name: 'other',
        isHalted: false,
        since: new Date('2026-03-01T10:00:01Z'),
        reason: 'failed 1 time, last: ECONNREFUSED',
      },
    ]);
    expect(watch.troubles()).toEqual([{ name: 'subscription trial', since: '2026-03-01T10:00:00.000Z', reason }]);
    expect(logged).toMatchObject([
      [{ name: 'trial', attempt: 1, from: '4', to: '9' }, 'subscription_failed'],
      [{ name: 'other' }, 'subscription_failed'],
      [{ attempt: 8 }, 'subscription_halted'],
    ]);
  });

  it('forgets one that handles a page, and one that has not failed again though it was tried', () => {
    const clock = new VirtualClock();
    const watch = new SubscriptionWatch({ log, clock });
    watch.callbacks.onError(new Error('away'), trouble);
    watch.callbacks.onBatch({ name: 'trial', events: 1, position: 4n });
    expect(watch.failing()).toEqual([]);
    watch.callbacks.onError(new Error('away'), { ...trouble, retryInMs: 30_000 });
    clock.advance(90_000);
    expect(watch.failing()).toHaveLength(1);
    clock.advance(1);
    expect(watch.failing()).toEqual([]);
  });
});

describe('a subscription', () => {
  let end: AbortController;
  let harness: TestHarness;
  let running: Promise<void>;
  beforeEach(async () => {
    end = new AbortController();
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
  });
  afterEach(async () => {
    end.abort();
    await running;
    await harness.stop();
  });

  it('runs though the log is idle and its lease ran out long ago, and stands by while another has it', async () => {
    const watch = new SubscriptionWatch({ log });
    const standing = () => watch.standings()[0]?.state;
    await harness.note([7]);
    await openCheckpoint(harness.pool, 'trial', 'other');
    await moveCheckpoint(harness.pool, 'trial', { position: 0n, holder: 'other', leaseMs: 60_000 });
    running = runSubscription({
      store: harness.store,
      pool: harness.pool,
      name: 'trial',
      signal: end.signal,
      leaseMs: 1,
      standbyPollMs: 1,
      handle: takeEffect,
      ...watch.callbacks,
    });
    expect(watch.standings()).toEqual([{ name: 'trial', state: 'standing_by' }]);
    await releaseCheckpoint(harness.pool, 'trial', 'other');
    await until('it runs', () => standing() === 'running');
    await until('it has handled what there is', async () => (await harness.effects()).length === 1);
    await until(
      'its lease ran out',
      async () =>
        ((await harness.pool.query('SELECT FROM checkpoint WHERE held_until < clock_timestamp()')).rowCount ?? 0) === 1,
    );
    expect(watch.standings()).toEqual([{ name: 'trial', state: 'running' }]);
  });

  it('is listed while it fails, and not when it goes on', async () => {
    const watch = new SubscriptionWatch({ log });
    let mended = false;
    await harness.note([7]);
    running = runSubscription({
      store: harness.store,
      pool: harness.pool,
      name: 'trial',
      signal: end.signal,
      retryFirstDelayMs: 1,
      haltedAfterAttempts: 3,
      handle: async (events, tx) => {
        if (!mended) throw new Error(`cannot take ${numberOf(events[0]!)}`);
        await takeEffect(events, tx);
      },
      ...watch.callbacks,
    });
    await until('it is halted', () => watch.failing()[0]?.isHalted === true);
    expect(watch.failing()).toMatchObject([
      {
        name: 'trial',
        reason: expect.stringMatching(/^failed \d+ times in a row, last at position 1: cannot take 7$/),
      },
    ]);
    expect(watch.standings()).toEqual([
      {
        name: 'trial',
        state: 'halted',
        since: expect.stringMatching(/Z$/),
        reason: expect.stringContaining('cannot take 7'),
      },
    ]);
    mended = true;
    await until('it goes on', () => watch.standings()[0]?.state === 'running' && watch.failing().length === 0);
    expect(await harness.effects()).toEqual([7]);
  });
});
