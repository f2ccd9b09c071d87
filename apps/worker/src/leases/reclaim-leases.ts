import type { Clock } from '#kernel';
import type { ServiceLog } from '#service';
import type { PostgresTaskQueue } from '#tasks';
import { isSurelyGone } from './process-name.js';

type Holders = Pick<PostgresTaskQueue, 'holders' | 'endLeasesOf'>;

const EVERY_MS = 5_000;

/**
 * Ends the leases of processes of this machine that are surely gone, so that a restart after a crash need not wait for
 * them to run out. Returns how many. It keeps principles 2.2: a lease protects against a holder that may still write,
 * and one that is gone cannot; what it wrote in its last moment is covered as ever, by the unknown outcome and its
 * grace, which counts from the take-over.
 */
export async function reclaimLeases(queue: Holders): Promise<number> {
  return queue.endLeasesOf((await queue.holders()).filter(isSurelyGone));
}

/** Takes over what those processes had begun, and says so. */
export async function takeOver(queue: Holders, log: Pick<ServiceLog, 'info'>): Promise<void> {
  const ended = await reclaimLeases(queue);
  if (ended > 0) log.info({ tasks: ended }, 'took over tasks of dead processes');
}

/**
 * Takes over from processes of this machine that are gone, now and then: their leases need not run out. Another
 * machine's are left to theirs.
 */
export async function watchNeighbours(
  queue: Holders,
  options: { clock: Clock; signal: AbortSignal; log: ServiceLog },
): Promise<void> {
  const { clock, signal, log } = options;
  while (!signal.aborted) {
    await clock.wait(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      await takeOver(queue, log);
    } catch {
      // A database that is away is told by readiness; the leases run out all the same.
    }
  }
}
