import { PedigreeError } from '#kernel';
import { underLocks, type Pool } from '#postgres';

/** The lock of whoever makes a run: two processes that write into its folder at once would spoil it. */
export const runLock = (runId: string): string => `pack run ${runId}`;

/** Does work on a run that nobody else makes meanwhile. @throws PedigreeError `unavailable` where somebody does. */
export async function whileLocked<T>(pool: Pool, runId: string, work: () => Promise<T>): Promise<T> {
  const made = await underLocks(pool, [runLock(runId)], work);
  if (made !== 'busy') return made;
  throw new PedigreeError('unavailable', `another process is making the run ${runId} now: wait for it`, {
    item: runId,
  });
}
