import type { DocumentReference, ItemPredecessor } from '#domain';
import type { Transaction } from '#postgres';
import { predecessorsIn, type Meeting } from './claim-book.js';
import { liftWaits, liftWaitsBetween, ringOf, ringUnits, type LiftedWait } from './waits.js';

/** Whom a unit waits for by its items, what of the waits of others was lifted for that, and the ring that is left. */
interface OpenedRing {
  predecessors: ItemPredecessor[];
  lifted: LiftedWait[];
  ring: DocumentReference[];
}

/**
 * Opens the ring that a unit would close by its `after`, or by those whom it meets. Waits by items that `after`
 * contradicts are lifted. So are those for a document of the ring that comes after one that has not registered, and the
 * unit itself does not come to wait for such: a chain of `after` may become known link by link. And a move of a whole
 * place may lie between two links with which it has nothing else in common. `ids`: a unit and its members; its `after`
 * stands in the tables already.
 */
export async function openRing(
  tx: Transaction,
  ids: string[],
  { after, met }: { after: DocumentReference[]; met: Meeting[] },
): Promise<OpenedRing> {
  const predecessorsOf = (meetings: Meeting[]): ItemPredecessor[] =>
    predecessorsIn(meetings).filter((one) => after.every((other) => other.requestId !== one.requestId));
  const ringBy = (all: ItemPredecessor[]): Promise<DocumentReference[]> => ringOf(tx, ids, [...after, ...all]);
  const predecessors = predecessorsOf(met);
  let ring = ids.length === 0 ? [] : await ringBy(predecessors);
  if (ring.length === 0) return { predecessors, lifted: [], ring };
  const lifted = await liftWaits(tx, ids);
  if (lifted.length > 0) ring = await ringBy(predecessors);
  if (ring.length === 0) return { predecessors, lifted, ring };
  const { units, later } = await ringUnits(tx, ids, ring);
  lifted.push(...(await liftWaitsBetween(tx, units, [...later])));
  const settled = predecessorsOf(met.filter((one) => !later.has(one.unit)));
  return { predecessors: settled, lifted, ring: await ringBy(settled) };
}
