import { describe, expect, it } from '@jest/globals';
import { Estimate } from './estimate.js';

describe('the estimate of a rebuild', () => {
  it('has no speed before the second report, and then says how long it takes at the speed of late', () => {
    const estimate = new Estimate();
    expect(estimate.report(0n, 1_000n, 0)).toEqual({ position: 0n, head: 1_000n, share: 0 });
    expect(estimate.report(100n, 1_000n, 1_000)).toMatchObject({ share: 0.1, perSecond: 100, secondsLeft: 9 });
    for (let n = 1; n <= 60; n += 1) estimate.report(100n + BigInt(n), 1_000n, 1_000 + n * 1_000);
    expect(estimate.report(161n, 1_000n, 62_000)).toMatchObject({ perSecond: 1, secondsLeft: 839 });
  });

  it('begins in the middle where a run goes on, and ends at 1', () => {
    const estimate = new Estimate();
    expect(estimate.report(500n, 1_000n, 5)).toMatchObject({ share: 0.5 });
    expect(estimate.report(1_000n, 1_000n, 2_005)).toMatchObject({ share: 1, perSecond: 250, secondsLeft: 0 });
    expect(new Estimate().report(0n, 0n, 0)).toMatchObject({ share: 1 });
    expect(new Estimate().report(9n, 8n, 0)).toMatchObject({ share: 1 });
  });

  it('says no speed while nothing moves', () => {
    const estimate = new Estimate();
    estimate.report(7n, 10n, 0);
    expect(estimate.report(7n, 10n, 1_000)).not.toHaveProperty('secondsLeft');
  });
});
