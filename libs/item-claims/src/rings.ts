import { isPlace, type DocumentReference, type ItemPredecessor } from '#domain';
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
 * contradicts are lifted. Then those in places alone for one that comes after another of the ring: a move of a whole
 * place may lie between two links with which it has nothing else in common. Where a ring is left, also those for a
 * document that comes after one that has not registered: a chain of `after` may become known link by link. Neither does
 * the unit itself come to wait for such. `ids`: a unit and its members; its `after` stands in the tables already.
 */
export async function openRing(
  tx: Transaction,
  ids: string[],
  { after, met }: { after: DocumentReference[]; met: Meeting[] },
): Promise<OpenedRing> {
  let meant = met;
  const predecessorsOf = (meetings: Meeting[]): ItemPredecessor[] =>
    predecessorsIn(meetings).filter((one) => after.every((other) => other.requestId !== one.requestId));
  const ringBy = (all: ItemPredecessor[]): Promise<DocumentReference[]> => ringOf(tx, ids, [...after, ...all]);
  let predecessors = predecessorsOf(meant);
  let ring = after.length + predecessors.length === 0 ? [] : await ringBy(predecessors);
  if (ring.length === 0) return { predecessors, lifted: [], ring };
  const lifted = await liftWaits(tx, ids);
  if (lifted.length > 0) ring = await ringBy(predecessors);
  for (const rule of ['in places', 'unknown'] as const) {
    if (ring.length === 0) break;
    const metInPacks = meant.flatMap((one) => (isPlace(one.item) ? [] : [one.unit]));
    const { units, later } = await ringUnits(tx, ids, { predecessors: ring, metInPacks, rule });
    lifted.push(...(await liftWaitsBetween(tx, { units, later }, rule)));
    meant = meant.filter((one) => !later.has(one.unit) || (rule === 'in places' && !isPlace(one.item)));
    predecessors = predecessorsOf(meant);
    ring = await ringBy(predecessors);
  }
  return { predecessors, lifted, ring };
}
