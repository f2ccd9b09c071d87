import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import { checkpointOf, type StoredCheckpoint } from './checkpoints.js';
import { countEpochs, type CountEpoch } from './count-table.js';
import { mostWitnessedSize } from './cosignature-table.js';
import { statementPlace } from './statement-place.js';

export interface ProofSource {
  pool: Pool;
  store: EventStore;
}

export interface Counted {
  epoch: CountEpoch;
  /** Leaf of the event that has its note. */
  leaf: number;
}

/**
 * The checkpoint that most witnesses have seen, among those that cover the events and a count. Where no witness has
 * seen one, the newest.
 */
export async function bestCheckpoint(
  source: ProofSource,
  newest: StoredCheckpoint,
  lastLeaf: number,
): Promise<{ checkpoint: StoredCheckpoint; counted: Counted | undefined }> {
  const { pool } = source;
  const counts = await countsIn(source, newest.size);
  for (const counted of [...counts, undefined]) {
    const size = await mostWitnessedSize(pool, Math.max(lastLeaf, counted?.leaf ?? 0) + 1);
    const checkpoint = size === undefined ? undefined : await checkpointOf(pool, size);
    if (checkpoint !== undefined) return { checkpoint, counted };
  }
  return { checkpoint: newest, counted: counts[0] };
}

/** The counts under a checkpoint of this size, the newest first. */
async function countsIn(source: ProofSource, size: number): Promise<Counted[]> {
  const epochs = await countEpochs(source.pool);
  const places = await Promise.all(epochs.map((epoch) => statementPlace(source, epoch)));
  return epochs.flatMap((epoch, i) => {
    const leaf = places[i]?.leaf;
    return leaf === undefined || leaf >= size ? [] : [{ epoch, leaf }];
  });
}
