import { PedigreeError, systemClock, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';

const LOOK_EVERY_MS = 250;
/** For how long the sides of a run wait: what follows the log is behind it by seconds, or it stands. */
const PATIENCE_MS = 600_000;

/** What follows the log, by its checkpoint. `mayBeMissing`: where it has never begun, it has nothing to tell. */
interface Follower {
  checkpoint: string;
  what: string;
  mayBeMissing?: true;
}

const projection = (name: string, what: string): Follower => ({
  ...{ checkpoint: projectionCheckpoint({ name }), what, mayBeMissing: true },
});
export const HISTORY = projection('sgtin-history', 'the history of packs');
export const OUTCOMES = projection('document-outcomes', 'the list of documents');
export const SUSPENSIONS = projection('suspensions', 'the list of suspensions');
/** Of a library above this one. */
export const CLAIMS: Follower = { checkpoint: 'item-claims', what: 'the list of claims', mayBeMissing: true };
const CASES: Follower = { checkpoint: projectionCheckpoint({ name: 'cases' }), what: 'the list of cases' };

/** Up to where it has read the log; undefined: it has never begun. */
export async function readUpTo(db: Queryable, { checkpoint }: Follower): Promise<bigint | undefined> {
  const { rows } = await db.query<{ position: bigint }>('SELECT position FROM checkpoint WHERE name = $1', [
    checkpoint,
  ]);
  return rows[0]?.position;
}

interface Patience {
  patienceMs?: number;
  clock?: Pick<Clock, 'wait'> | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Waits until it has read the log up to this position.
 * @throws PedigreeError `unavailable` when it has not by then; the reason of the signal when that aborts.
 */
export async function hasRead(
  db: Queryable,
  follower: Follower,
  position: bigint,
  { patienceMs = PATIENCE_MS, clock = systemClock, signal }: Patience = {},
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const read = await readUpTo(db, follower);
    if ((read ?? (follower.mayBeMissing === true ? position : 0n)) >= position) return;
    if (waitedMs >= patienceMs)
      throw new PedigreeError('unavailable', `${follower.what} is behind the log: is a worker running?`);
    await clock.wait(LOOK_EVERY_MS, signal);
    signal?.throwIfAborted();
  }
}

/** Waits until the read model has all cases up to this position: which of them are gone is told by it. */
export const casesAreRead = (db: Queryable, head: bigint, patience: Patience & { patienceMs: number }): Promise<void> =>
  hasRead(db, CASES, head, patience);
