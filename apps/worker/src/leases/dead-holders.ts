import type { PostgresTaskQueue } from '#tasks';
import { isSurelyGone } from './process-name.js';

/**
 * Ends the leases of processes of this machine that are surely gone, so that a restart after a crash need not wait for
 * them to run out. Returns how many. It keeps principles 2.2: a lease protects against a holder that may still write,
 * and one that is gone cannot; what it wrote in its last moment is covered as ever, by the unknown outcome and its
 * grace, which counts from the take-over.
 */
export async function endLeasesOfTheDead(queue: Pick<PostgresTaskQueue, 'holders' | 'endLeasesOf'>): Promise<number> {
  return queue.endLeasesOf((await queue.holders()).filter(isSurelyGone));
}
