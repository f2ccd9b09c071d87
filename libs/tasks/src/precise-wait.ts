import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#kernel';

/**
 * Timers wake up to 1 ms early and a few ms late, so the rest is spent in turns of the event loop, which go on serving
 * others.
 */
const LAST_TURNS_MS = 2;
/** With a clock that stands still the turns would never end. */
const MOST_TURNS = 20_000;

/** Resolves at `untilMs` of the clock's monotonic time, never before it unless `signal` aborts. */
export async function waitUntil(clock: Clock, untilMs: number, signal: AbortSignal): Promise<void> {
  let turns = 0;
  for (
    let remainingMs = untilMs - clock.monotonicMs();
    remainingMs > 0 && !signal.aborted;
    remainingMs = untilMs - clock.monotonicMs()
  ) {
    if (remainingMs > LAST_TURNS_MS) await clock.wait(Math.max(1, Math.floor(remainingMs - LAST_TURNS_MS)), signal);
    else if (turns >= MOST_TURNS) await clock.wait(remainingMs, signal);
    else await nextTurn();
    turns += 1;
  }
}
