import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import { checkpointsSeen } from './cosignature-table.js';
import { LeafPlaces } from './leaf-place.js';
import type { LogState, PublishedCount } from './log-state.js';
import type { StoredCheckpoint } from './checkpoints.js';

export interface ProofSource {
  pool: Pool;
  store: EventStore;
}

/** A count of streams that a checkpoint covers, and the leaf of the event that has its note. */
export interface Counted extends PublishedCount {
  leaf: number;
}

/** Under which checkpoint events are proven, and by which counts their streams. */
export interface ProvenUnder {
  checkpoint: StoredCheckpoint;
  /** What witnesses said of it. */
  cosignatures: string;
  counted: Counted | undefined;
}

/**
 * The checkpoint that most witnesses have seen, among those that cover the events and a count. Where no witness has
 * seen one, the newest.
 */
export async function bestCheckpoint(
  source: ProofSource,
  { newest, state, lastLeaf }: { newest: StoredCheckpoint; state: LogState; lastLeaf: number },
): Promise<ProvenUnder> {
  const counts = await countsUnder(source, newest, state.counts);
  const newestOne = { checkpoint: newest, cosignatures: '', counted: counts[0] };
  if (!state.isWitnessed) return newestOne;
  const choices = [...counts, undefined];
  const sizes = choices.map((counted) => Math.max(lastLeaf, counted?.leaf ?? 0) + 1);
  const seen = await checkpointsSeen(source.pool, sizes);
  const best = seen.findIndex((one) => one !== undefined);
  return best < 0 ? newestOne : { ...(seen[best] as NonNullable<(typeof seen)[number]>), counted: choices[best] };
}

/** The counts under this checkpoint, the newest first. */
async function countsUnder(
  { pool, store }: ProofSource,
  { size }: StoredCheckpoint,
  counts: PublishedCount[],
): Promise<Counted[]> {
  const places = new LeafPlaces(pool, store);
  const found: Counted[] = [];
  for (const count of counts) {
    const leaf = (await places.in(count.page, count.event))?.leaf;
    if (leaf !== undefined && leaf < size) found.push({ ...count, leaf });
  }
  return found;
}
