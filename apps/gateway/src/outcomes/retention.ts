import { systemClock, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { removeOutcomes } from '#read-models';
import { deliveredByAll } from './delivery-table.js';

export interface RetentionOptions {
  pool: Queryable;
  /** How long an outcome is kept for the feed after it was recorded. */
  keptMs: number;
  signal: AbortSignal;
  /** Default an hour. */
  everyMs?: number;
  /** Most rows removed by one statement, and statements of one round. Defaults 1,000 and 100: what is left goes in the next round. */
  batchSize?: number;
  mostBatches?: number;
  report(error: unknown): void;
  clock?: Clock;
}

/** Removes outcomes that are old enough and that every way out has delivered, round by round, until `signal` aborts. Never rejects. */
export async function runRetention(options: RetentionOptions): Promise<void> {
  const { signal, everyMs = 3_600_000, report, clock = systemClock } = options;
  while (!signal.aborted) {
    await removeOld(options).catch(report);
    await clock.wait(everyMs, signal);
  }
}

/** One round; returns how many were removed. Nothing is removed before at least one way out is there and has delivered it. */
export async function removeOld({ pool, keptMs, batchSize = 1_000, mostBatches = 100, signal, clock = systemClock }: RetentionOptions): Promise<number> {
  const upTo = await deliveredByAll(pool, keptMs);
  if (upTo === undefined) return 0;
  const before = new Date(clock.now().getTime() - keptMs);
  let removed = 0;
  for (let batch = 0; batch < mostBatches && !signal.aborted; batch += 1) {
    const now = await removeOutcomes(pool, { before, upTo, limit: batchSize });
    removed += now;
    if (now < batchSize) break;
  }
  return removed;
}
