import { isSgtin } from '#kernel';
import type { TypeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import type { HistoryQuery } from '../port.js';
import { compareMoments, walkContainment, type ContainmentFinding } from './containment.js';
import { livedRows, type LivedRow } from './life.js';
import {
  changesIn,
  hasHeardOf,
  NOW,
  positionAt,
  readLife,
  readPlaceMoves,
  readRecalls,
  readToldAlone,
  type Known,
  type LifeRow,
  type ToldRow,
} from './life-rows.js';
import { foldState, type Fact, type ItemState, type StateKnowledge } from './state.js';

export type LifeKnowledge = StateKnowledge & Pick<TypeKnowledge, 'titleOf' | 'extracts' | 'isRecallable'>;

/** The life of one pack or container, as of a moment and as known at one, and the state that it leads to. */
export interface ItemLife {
  lived: LivedRow[];
  state: ItemState;
  container: Fact | undefined;
  /** Of the item itself. */
  findings: ContainmentFinding[];
  /** Log positions of all that was read for it, each once: also of what turned out not to move the item. */
  readFrom: bigint[];
}

/** The documents that a question is about. */
export async function knownOf(db: Queryable, { knownAt, asOf }: HistoryQuery): Promise<Known> {
  const position = knownAt instanceof Date ? await positionAt(db, knownAt) : knownAt;
  return { knownAt: position ?? NOW.knownAt, asOf: asOf === undefined ? NOW.asOf : endOfSecond(asOf) };
}

/**
 * Lists tell whole seconds, and receipts more. As of a moment within a second the acceptance from a list would count
 * without the shipment that it answers, so that all of the second counts.
 */
const endOfSecond = (moment: Date): Date => new Date(Math.floor(moment.getTime() / 1_000) * 1_000 + 999);

/** `undefined` when no document that was known had named the item. */
export async function readItemLife(
  db: Queryable,
  item: string,
  { known, types }: { known: Known; types: LifeKnowledge },
): Promise<ItemLife | undefined> {
  const { rows, namesMovedPlace, isRecallNamed, isToldAlone } = await readLife(db, item, known);
  if (!rows.some((row) => row.item === item) && !(await hasHeardOf(db, item, known))) return undefined;
  const { stays, findings } = walkContainment(changesIn(rows, types));
  const own = namesMovedPlace ? [...rows, ...(await readPlaceMoves(db, rows, { known, types }))] : rows;
  const moved = livedRows(item, { rows: own, stays });
  const recalls = namesMovedPlace || isRecallNamed ? await readRecalls(db, moved, { known, types }) : [];
  const all = recalls.length === 0 ? moved : livedRows(item, { rows: [...own, ...asOwn(recalls, item)], stays });
  const told = isToldAlone ? await readToldAlone(db, item, known) : [];
  const { state, lived } = foldState(withTold(all, told), {
    gtin: isSgtin(item) ? item.slice(0, 14) : undefined,
    types,
  });
  const stay = stays.find((one) => one.item === item && one.to === undefined);
  return {
    lived: told.length === 0 ? lived : lived.filter((row) => !('isTold' in row)),
    state,
    container: stay && { value: stay.container, by: packingOf(lived, { item, ...stay.from }) },
    findings: findings.filter((one) => one.item === item),
    readFrom: [...new Set([...own, ...recalls, ...told].map((row) => row.position))],
  };
}

/** With what was told of the item without moving it: that is no movement of its life, and it has a place in it. */
function withTold(lived: LivedRow[], told: readonly ToldRow[]): LivedRow[] {
  if (told.length === 0) return lived;
  const all = [...lived, ...told.map((row) => ({ ...row, depth: 0 }))];
  return all.sort((a, b) => compareMoments(a, b) || a.ordinal - b.ordinal);
}

/** A recall names no item: it is one of each item of the operation that it recalls. */
const asOwn = <Row extends LifeRow>(recalls: Row[], item: string): Row[] => recalls.map((row) => ({ ...row, item }));

function packingOf(lived: LivedRow[], { item, position }: { item: string; position: bigint }): LivedRow {
  const packing = lived.find((row) => row.item === item && row.position === position && row.containment === 'packed');
  if (packing === undefined) throw new Error(`the packing of ${item} at position ${position} is not in its own life`);
  return packing;
}
