import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { Queryable } from './pool.js';
import { openServerClock } from './server-clock.js';

/** A server whose clock is a virtual one; `answers` may fail. */
function serverOf(clock: VirtualClock, answers: { fail?: Error; tookMs?: number } = {}): Queryable {
  const query = () => {
    const { fail, tookMs = 0 } = answers;
    if (fail !== undefined) return Promise.reject(fail);
    clock.advance(tookMs / 2);
    const rows = [{ now_ms: clock.now().getTime() }];
    clock.advance(tookMs / 2);
    return Promise.resolve({ rows });
  };
  return { query } as unknown as Queryable;
}

/** Lets what was woken run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("the database's clock", () => {
  it.each([3_600_000, -3_600_000])(
    'shows the time of the server, whose clock is %d ms off from ours',
    async (offMs) => {
      const local = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
      const server = new VirtualClock(new Date(local.now().getTime() + offMs));
      const stop = new AbortController();
      const clock = await openServerClock(serverOf(server), { signal: stop.signal, local });
      expect(clock.now()).toEqual(server.now());
      expect(clock.source?.()).toEqual({
        ...{ source: 'database', machineAheadMs: -offMs, uncertaintyMs: 0 },
        measuredAt: server.now().toISOString(),
      });
      local.advance(5_000);
      expect(clock.now().getTime()).toBe(server.now().getTime() + 5_000);
      stop.abort();
    },
  );

  it('takes the middle of the question for the moment of the answer', async () => {
    const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    const stop = new AbortController();
    const server = await openServerClock(serverOf(clock, { tookMs: 80 }), { signal: stop.signal, local: clock });
    expect(server.now()).toEqual(clock.now());
    stop.abort();
  });

  it('asks again, follows a step, and goes on while the server is away', async () => {
    const local = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    const answers: { fail?: Error } = {};
    const server = new VirtualClock(local.now());
    const errors: unknown[] = [];
    const stop = new AbortController();
    const clock = await openServerClock(serverOf(server, answers), {
      signal: stop.signal,
      local,
      everyMs: 60_000,
      onError: (error) => errors.push(error),
    });
    server.advance(3_660_000);
    local.advance(60_000);
    await settle();
    expect(clock.now()).toEqual(server.now());
    answers.fail = new Error('away');
    server.advance(60_000);
    local.advance(60_000);
    await settle();
    expect(errors).toEqual([answers.fail]);
    expect(clock.now()).toEqual(server.now());
    stop.abort();
  });
});
