import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import { FailingSubscriptions } from './failing.js';
import { runSubscription } from './runner.js';
import { makeTrial, numberOf, takeEffect, type Trial } from './trial.js';

const trouble = { name: 'trial', kind: 'subscription_failed', attempt: 1, retryInMs: 100 } as const;
const logged: [unknown, string][] = [];
const log = { error: (fields: object, message: string): void => void logged.push([fields, message]) };

describe('the list of failing subscriptions', () => {
  it('names each once, with how often, since when, where and why; health shows those that halted, and the log all', () => {
    const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    const failing = new FailingSubscriptions({ log, clock });
    failing.onError(new Error('no such column'), { ...trouble, from: 4n, to: 9n });
    clock.advance(1_000);
    failing.onError(Object.assign(new Error(''), { code: 'ECONNREFUSED' }), { ...trouble, name: 'other' });
    failing.onError(new Error('no such table'), { ...trouble, kind: 'subscription_halted', attempt: 8, from: 4n, to: 4n });
    const reason = 'failed 8 times in a row, last at position 4: no such table';
    expect(failing.list()).toEqual([
      { name: 'trial', isHalted: true, since: new Date('2026-03-01T10:00:00Z'), reason },
      { name: 'other', isHalted: false, since: new Date('2026-03-01T10:00:01Z'), reason: 'failed 1 time, last: ECONNREFUSED' },
    ]);
    expect(failing.troubles()).toEqual([{ name: 'subscription trial', since: '2026-03-01T10:00:00.000Z', reason }]);
    expect(logged).toMatchObject([[{ name: 'trial', attempt: 1, from: '4', to: '9' }, 'subscription_failed'], [{ name: 'other' }, 'subscription_failed'], [{ attempt: 8 }, 'subscription_halted']]);
  });

  it('forgets one that handles a page, and one that has not failed again though it was tried', () => {
    const clock = new VirtualClock();
    const failing = new FailingSubscriptions({ log, clock });
    failing.onError(new Error('away'), trouble);
    failing.onBatch({ name: 'trial' });
    expect(failing.list()).toEqual([]);
    failing.onError(new Error('away'), { ...trouble, retryInMs: 30_000 });
    clock.advance(90_000);
    expect(failing.list()).toHaveLength(1);
    clock.advance(1);
    expect(failing.list()).toEqual([]);
  });
});

describe('a subscription that fails', () => {
  const end = new AbortController();
  let trial: Trial;
  let running: Promise<void>;
  beforeEach(async () => {
    trial = await makeTrial(await testDatabase());
  });
  afterEach(async () => {
    end.abort();
    await running;
    await trial.stop();
  });

  it('is listed while it fails, and not when it goes on', async () => {
    const failing = new FailingSubscriptions({ log });
    let mended = false;
    await trial.note([7]);
    running = runSubscription({
      ...{ store: trial.store, pool: trial.pool, name: 'trial', signal: end.signal, retryFirstDelayMs: 1, haltedAfterAttempts: 3 },
      handle: async (events, tx) => {
        if (!mended) throw new Error(`cannot take ${numberOf(events[0]!)}`);
        await takeEffect(events, tx);
      },
      ...{ onError: failing.onError, onBatch: failing.onBatch },
    });
    await until('it is halted', () => failing.list()[0]?.isHalted === true);
    expect(failing.list()).toMatchObject([{ name: 'trial', reason: expect.stringMatching(/^failed \d+ times in a row, last at position 1: cannot take 7$/) }]);
    mended = true;
    await until('it goes on', () => failing.list().length === 0);
    expect(await trial.effects()).toEqual([7]);
  });
});
