import type { Pool } from '#postgres';
import { BucketTree } from '#proofs';
import { bucketHashesAt, type CountEpoch } from './count-table.js';

/** What ended is kept until the next but one ends. */
const MOST_TREES = 3;

const known = new WeakMap<Pool, Map<string, Promise<BucketTree>>>();

/**
 * The tree over the buckets of an epoch that was signed, read once for all proofs of this process: it is never changed
 * any more. What is read when somebody has changed it leads to a proof that does not hold.
 */
export function bucketTreeOf(pool: Pool, { epoch, note }: CountEpoch): Promise<BucketTree> {
  const name = `${epoch}\n${note}`;
  const trees = known.get(pool) ?? new Map<string, Promise<BucketTree>>();
  known.set(pool, trees);
  const there = trees.get(name);
  if (there !== undefined) return there;
  const read = bucketHashesAt(pool, epoch).then((hashes) => new BucketTree(hashes));
  trees.set(name, read);
  if (trees.size > MOST_TREES) trees.delete(trees.keys().next().value as string);
  // What could not be read is tried again by the next who asks.
  read.catch(() => trees.delete(name));
  return read;
}
