import { hasAllRecordedBy, type EventStore } from '#event-store';
import { invalidParameter, PedigreeError, systemClock } from '#kernel';
import type { Pool } from '#postgres';
import { checkpointPosition, projectionCheckpoint } from '#subscriptions';

/** Read models follow the log within moments; so long they are waited for. */
export const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 50;

/** Whether it is so, at once or before patience ends. */
export async function comesToBe(isSo: () => Promise<boolean>, patienceMs: number): Promise<boolean> {
  const end = systemClock.now().getTime() + patienceMs;
  while (!(await isSo())) {
    if (systemClock.now().getTime() >= end) return false;
    await systemClock.wait(LOOK_AGAIN_MS);
  }
  return true;
}

const RECORD = projectionCheckpoint({ name: 'sgtin-history' });

/**
 * Waits until the log has all that is known at this log position or instant, and the record of packs too: a later
 * answer is the same (decision 131). Of an instant and a log on a server only the record is sure.
 * @throws PedigreeError `invalid_parameter` for one to come, `unavailable` where the record stays behind.
 */
export async function awaitKnown(
  { pool, store }: { pool: Pool; store: EventStore },
  knownAt: bigint | Date,
): Promise<void> {
  await refuseToCome(store, knownAt);
  const isKnown = async (): Promise<boolean> => {
    if (knownAt instanceof Date && !(await hasAllRecordedBy(pool, knownAt))) return false;
    const position = await checkpointPosition(pool, RECORD);
    if (typeof knownAt === 'bigint') return position >= knownAt;
    const { events } = await store.readAll(position, { limit: 1 });
    return events.every(({ recordedAt }) => recordedAt > knownAt);
  };
  if (!(await comesToBe(isKnown, PATIENCE_MS)))
    throw new PedigreeError(
      'unavailable',
      'known_at: the record of packs has not come so far in the log; ask again later. Is a worker running?',
      { field: 'known_at' },
    );
}

async function refuseToCome(store: EventStore, knownAt: bigint | Date): Promise<void> {
  if (typeof knownAt === 'bigint') {
    const head = await store.head();
    if (knownAt > head) throw invalidParameter('known_at', `the log ends at ${head}: ${knownAt} is to come`);
  } else if (knownAt > systemClock.now()) throw invalidParameter('known_at', `${knownAt.toISOString()} is to come`);
}
