import { PedigreeError, systemClock } from '#kernel';
import { checkpointPosition, projectionCheckpoint } from '#subscriptions';
import { comesToBe, PATIENCE_MS } from '../api/record-known.js';
import type { LogAndTables, Provable } from './provable.js';

/** When an answer was read, and how far the log was then: it is made from everything before. */
export interface ReadMoment {
  readAt: Date;
  position: bigint;
}

/**
 * The end of the log, once the read models have come as far: an answer that is read now is made from all of it.
 * Throws PedigreeError `unavailable` where one is behind for longer.
 */
export async function momentOfReading(
  { pool, store }: LogAndTables,
  { models }: Provable,
  patienceMs = PATIENCE_MS,
): Promise<ReadMoment> {
  const position = await store.head();
  for (const model of models) {
    const checkpoint = projectionCheckpoint({ name: model });
    if (!(await comesToBe(async () => (await checkpointPosition(pool, checkpoint)) >= position, patienceMs)))
      throw new PedigreeError(
        'unavailable',
        `proof: the read model ${model} is behind the log, and an answer is proven only as the log has it; ` +
          'is a worker running?',
        { field: 'proof' },
      );
  }
  return { readAt: systemClock.now(), position };
}
