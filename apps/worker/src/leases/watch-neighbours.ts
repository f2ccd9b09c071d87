import type { Clock } from '#kernel';
import type { ServiceLog } from '#service';
import type { PostgresTaskQueue } from '#tasks';
import { endLeasesOfTheDead } from './dead-holders.js';

const EVERY_MS = 5_000;

/**
 * Takes over from processes of this machine that are gone, now and then: their leases need not run out. Another
 * machine's are left to theirs.
 */
export async function watchNeighbours(
  queue: Pick<PostgresTaskQueue, 'holders' | 'endLeasesOf'>,
  options: { clock: Clock; signal: AbortSignal; log: ServiceLog },
): Promise<void> {
  const { clock, signal, log } = options;
  while (!signal.aborted) {
    await clock.wait(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      const ended = await endLeasesOfTheDead(queue);
      if (ended > 0) log.info({ tasks: ended }, 'took over tasks of processes that are gone');
    } catch {
      // A database that is away is told by readiness; the leases run out all the same.
    }
  }
}
