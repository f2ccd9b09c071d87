import { PedigreeError, systemClock } from '#kernel';
import { checkpointPosition, projectionCheckpoint } from '#subscriptions';
import type { LogAndTables, Provable } from './provable.js';

/** When an answer was read, and how far the log was then: it is made from everything before. */
export interface ReadMoment {
  readAt: Date;
  position: bigint;
}

/** Read models follow the log within moments; so long they are waited for. */
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 50;

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
  const end = systemClock.now().getTime() + patienceMs;
  for (const model of models) {
    while ((await checkpointPosition(pool, projectionCheckpoint({ name: model }))) < position) {
      if (systemClock.now().getTime() >= end)
        throw new PedigreeError(
          'unavailable',
          `proof: the read model ${model} is behind the log, and an answer is proven only as the log has it; ` +
            'is a worker running?',
          { field: 'proof' },
        );
      await systemClock.wait(LOOK_AGAIN_MS);
    }
  }
  return { readAt: systemClock.now(), position };
}
