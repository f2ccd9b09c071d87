import { systemClock, type Clock, type ClockSource } from '#kernel';
import type { Queryable } from './pool.js';

/** How often the server is asked again: two clocks drift apart by some ms in that time at most. */
const ASK_EVERY_MS = 60_000;
/** An answer that took longer says too little of when it was given: a connection or the server was waited for. */
const SLOW_MS = 1_000;

export interface ServerClockOptions {
  everyMs?: number;
  /** Ends the asking. */
  signal: AbortSignal;
  /** The clock by which this process measures what passed, and waits. Default: the system's. */
  local?: Clock;
  /** Told when the server could not be asked: its last known time goes on meanwhile. */
  onError?: (error: unknown) => void;
}

/** What one question told: all in ms. */
interface Asked {
  /** Of the server's wall clock against the monotonic one here. */
  aheadMs: number;
  tookMs: number;
  machineAheadMs: number;
  atMs: number;
}

const sourceOf = ({ tookMs, machineAheadMs, atMs }: Asked): ClockSource => ({
  source: 'database',
  machineAheadMs: Math.round(machineAheadMs),
  uncertaintyMs: Math.ceil(tookMs / 2),
  measuredAt: new Date(atMs).toISOString(),
});

/**
 * The database's wall time as a clock: what all processes agree on, however wrong the clocks of their machines are. It
 * is right to half the time that the question took. Rejects when the server cannot be asked at first.
 */
export async function openServerClock(db: Queryable, options: ServerClockOptions): Promise<Clock> {
  const { everyMs = ASK_EVERY_MS, signal, local = systemClock, onError = () => undefined } = options;
  const ask = async (): Promise<Asked> => {
    const sentMs = local.monotonicMs();
    const { rows } = await db.query<{ now_ms: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms',
    );
    const answeredMs = local.monotonicMs();
    const nowMs = (rows[0] as { now_ms: number }).now_ms;
    const [tookMs, machineMs] = [answeredMs - sentMs, local.now().getTime()];
    const aheadMs = nowMs - (sentMs + answeredMs) / 2;
    return { aheadMs, tookMs, machineAheadMs: machineMs - (aheadMs + answeredMs), atMs: nowMs };
  };
  let asked = await ask();
  void (async () => {
    while (!signal.aborted) {
      await local.wait(everyMs, signal);
      if (signal.aborted) return;
      await ask().then((answer) => answer.tookMs <= SLOW_MS && (asked = answer), onError);
    }
  })();
  return {
    now: () => new Date(asked.aheadMs + local.monotonicMs()),
    source: () => sourceOf(asked),
    monotonicMs: () => local.monotonicMs(),
    wait: (delayMs, until) => local.wait(delayMs, until),
  };
}
