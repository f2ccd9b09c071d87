import { describe, expect, it } from '@jest/globals';
import { systemClock, VirtualClock } from './clock.js';

describe('the virtual clock', () => {
  it('wakes what is due, earliest first, and nothing else', async () => {
    const clock = new VirtualClock(new Date('2026-01-01T00:00:00Z'));
    const woken: string[] = [];
    const waits = [clock.wait(20).then(() => woken.push('b')), clock.wait(10).then(() => woken.push('a'))];
    void clock.wait(21).then(() => woken.push('c'));
    clock.advance(20);
    await Promise.all(waits);
    expect(woken).toEqual(['a', 'b']);
    expect(clock.now().toISOString()).toBe('2026-01-01T00:00:00.020Z');
    expect(clock.monotonicMs()).toBe(20);
  });

  it('ends a wait when its signal aborts', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const wait = clock.wait(1_000, abort.signal);
    abort.abort();
    await wait;
    expect(clock.monotonicMs()).toBe(0);
  });
});

describe('the system clock', () => {
  it('ends a wait when its signal aborts, before or during it', async () => {
    const abort = new AbortController();
    const wait = systemClock.wait(3_600_000, abort.signal);
    abort.abort();
    await wait;
    await systemClock.wait(3_600_000, abort.signal);
    expect(abort.signal.aborted).toBe(true);
  });
});
