import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs } from './backoff.js';

describe('a back-off', () => {
  it('doubles with each failure, up to its limit', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => backoffMs(failures, { firstMs: 100, mostMs: 1_000 }));
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('doubles on where only the attempts are limited', () => expect(backoffMs(8, { firstMs: 5_000 })).toBe(640_000));

  it.each([
    [0, 200],
    [0.5, 300],
    [1, 400],
  ])('with a jitter of %d of 400 ms is %d ms', (jitter, waitMs) =>
    expect(backoffMs(3, { firstMs: 100, mostMs: 1_000, jitter })).toBe(waitMs),
  );

  it('is a number within its limits after any count of failures', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.record({
          firstMs: fc.nat(10_000),
          mostMs: fc.nat(100_000),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        (failures, backoff) => {
          const waitMs = backoffMs(failures, backoff);
          expect(waitMs).toBeGreaterThanOrEqual(Math.min(backoff.firstMs, backoff.mostMs) / 2);
          expect(waitMs).toBeLessThanOrEqual(backoff.mostMs);
          expect(backoffMs(failures + 1, backoff)).toBeGreaterThanOrEqual(waitMs);
        },
      ),
    ));
});
