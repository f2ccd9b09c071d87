import { backoffMs, type Clock } from '#kernel';
import type { ReadOutcome } from './read-outcome.js';

/** With every second call failing, one reading in a million comes to this end. */
const MOST_IN_A_ROW = 20;
const BACKOFF = { firstMs: 100, mostMs: 1_000 };

/**
 * Whether a page or a part of a long reading is to be read again after it failed, having waited: 100 ms, then 200, then
 * 400, up to a second (registry-interface 7.1). What the registry refuses, denies or does not have stays so. Never for
 * anything that changes something.
 */
export async function mayReadAgain(
  outcome: Pick<ReadOutcome<unknown>, 'kind'>,
  failuresInARow: number,
  clock: Pick<Clock, 'wait'>,
): Promise<boolean> {
  const passing = outcome.kind === 'unknown' || outcome.kind === 'rate_limited' || outcome.kind === 'not_sent';
  if (!passing || failuresInARow >= MOST_IN_A_ROW) return false;
  await clock.wait(backoffMs(failuresInARow, BACKOFF));
  return true;
}
