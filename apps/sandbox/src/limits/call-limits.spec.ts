import { describe, expect, it } from '@jest/globals';
import { loadProfile } from '../profile.js';
import { CallLimits } from './call-limits.js';

const at = (ms: number) => ({ earliestMs: ms, latestMs: ms });
const limits = (enabled = true) => new CallLimits(loadProfile('interface-v1'), { enabled, intervalMs: undefined });

describe('the minimum interval between calls', () => {
  it('holds per account and method, with 5 ms of slack', () => {
    const judged = limits();
    expect(judged.judge('main', 'send', at(0)).allowed).toBe(true);
    expect(judged.judge('main', 'send', at(95)).allowed).toBe(true);
    expect(judged.judge('main', 'send', at(189.9)).allowed).toBe(false);
    expect(judged.judge('north', 'send', at(189.9)).allowed).toBe(true);
    expect(judged.judge('main', 'status', at(189.9)).allowed).toBe(true);
  });

  it('is counted from the last request, a refused one too', () => {
    const judged = limits();
    judged.judge('main', 'send', at(0));
    expect(judged.judge('main', 'send', at(50))).toMatchObject({
      allowed: false,
      afterRefusal: false,
      intervalMs: 100,
    });
    expect(judged.judge('main', 'send', at(120))).toMatchObject({ allowed: false, afterRefusal: true });
    expect(judged.judge('main', 'send', at(215))).toMatchObject({ allowed: true, afterRefusal: false });
  });

  it('blames nobody for what the sandbox read late', () => {
    const judged = limits();
    judged.judge('main', 'send', { earliestMs: 0, latestMs: 60 });
    expect(judged.judge('main', 'send', at(100)).allowed).toBe(true);
    expect(judged.judge('main', 'send', { earliestMs: 120, latestMs: 150 }).allowed).toBe(false);
  });

  it('holds nobody up when it is off', () => {
    const judged = limits(false);
    expect([0, 1, 2].map((ms) => judged.judge('main', 'send', at(ms)).allowed)).toEqual([true, true, true]);
  });
});
