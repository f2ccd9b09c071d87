import { PedigreeError, systemClock, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';

const LOOK_EVERY_MS = 250;

/**
 * Waits until the read model has all cases up to this position: which of them are gone is told by it.
 * @throws PedigreeError `unavailable` when it has not by then; the reason of the signal when that aborts.
 */
export async function casesAreRead(
  db: Queryable,
  head: bigint,
  { patienceMs, clock = systemClock, signal }: { patienceMs: number; clock?: Clock; signal?: AbortSignal },
): Promise<void> {
  const begunMs = clock.monotonicMs();
  for (;;) {
    const { rows } = await db.query<{ position: bigint }>('SELECT position FROM checkpoint WHERE name = $1', [
      projectionCheckpoint({ name: 'cases' }),
    ]);
    if (head === 0n || (rows[0]?.position ?? 0n) >= head) return;
    if (clock.monotonicMs() - begunMs >= patienceMs)
      throw new PedigreeError('unavailable', 'the list of cases is behind the log: is a worker running?');
    await clock.wait(LOOK_EVERY_MS, signal);
    signal?.throwIfAborted();
  }
}
