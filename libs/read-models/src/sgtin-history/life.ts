import { isSgtin, isSscc } from '#kernel';
import { carriersOf, compareMoments, isDuring, type Carrier, type Stay } from './containment.js';
import type { LifeRow } from './life-rows.js';

/** A movement of the item itself (depth 0), of a container around it (from 1 on), or of the place where it was (-1). */
export type LivedRow = LifeRow & { depth: number };

const isPlace = (item: string): boolean => !isSgtin(item) && !isSscc(item);

/**
 * The movements among these rows that were the item's own, or a container's while that held it, in the registry's
 * order. A document that names the item and its container counts once: as it names the innermost that it did not
 * refuse. Moves of places are all there: whether the item was there, who folds them tells.
 */
export function livedRows(
  item: string,
  { rows, stays }: { rows: readonly LifeRow[]; stays: readonly Stay[] },
): LivedRow[] {
  const carriers = new Map<string, Carrier[]>();
  for (const carrier of carriersOf(item, stays)) {
    const same = carriers.get(carrier.container);
    if (same === undefined) carriers.set(carrier.container, [carrier]);
    else same.push(carrier);
  }
  const depthOf = (row: LifeRow): number | undefined => {
    if (row.item === item) return 0;
    if (isPlace(row.item)) return -1;
    const during = (carriers.get(row.item) ?? []).filter((carrier) => isDuring(row, carrier));
    return during.length === 0 ? undefined : Math.min(...during.map(({ depth }) => depth));
  };
  const lived = rows.flatMap((row) => {
    const depth = depthOf(row);
    return depth === undefined ? [] : [{ ...row, depth }];
  });
  lived.sort(
    (a, b) =>
      compareMoments(a, b) ||
      a.ordinal - b.ordinal ||
      a.depth - b.depth ||
      (a.item < b.item ? -1 : Number(a.item > b.item)),
  );
  return countedOnce(lived, ({ result }) => result === 'refused');
}

/**
 * Rows in order, of which a movement counts once: its first that was not refused. A pack that is refused because it
 * lies in a container goes with that all the same.
 */
export function countedOnce<Row extends Pick<LifeRow, 'position' | 'ordinal'>>(
  rows: readonly Row[],
  isRefused: (row: Row) => boolean,
): Row[] {
  let told: Row | undefined;
  return rows.filter((row) => {
    if (row.position === told?.position && row.ordinal === told.ordinal) return false;
    if (!isRefused(row)) told = row;
    return true;
  });
}
