import type { ProductSeries } from '#domain';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { PackTypes } from '../pack-state/list.js';
import { branchOf, fateOf, groupsOfSeries, ON_ITS_WAY, type SeriesGroup } from '../pack-state/series-file.js';
import type { AffectedPacks } from '../port.js';

type Figure = AffectedPacks['branches'][number];

/**
 * Packs of a series that still concern somebody, by branch: in stock, on their way, shipped. Recent is what the
 * registry accepted from this moment on. Packs whose series no document has told are not in it.
 */
export async function affectedPacks(
  db: Queryable,
  { gtin, series }: ProductSeries,
  { types, recentFrom }: { types: PackTypes; recentFrom: Date },
): Promise<AffectedPacks> {
  const { groups, own, knownAt } = await groupsOfSeries(db, { gtin, series }, types);
  const figures = new Map<string, Figure>();
  for (const group of groups) {
    const standing = standingOf(group, own);
    if (standing === undefined) continue;
    const { place, packs, acceptedAt } = group;
    const branch = branchOf(group, own);
    const key = JSON.stringify([branch, standing, place]);
    const before = figures.get(key);
    const newestAt = newest(before?.newestAt, acceptedAt?.toISOString());
    figures.set(key, {
      ...{ branch, standing, ...present({ place }), packs: packs + (before?.packs ?? 0) },
      ...present({ newestAt }),
      recent: newestAt !== undefined && newestAt >= recentFrom.toISOString(),
    });
  }
  const branches = [...figures].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, figure]) => figure);
  return { gtin, series, knownAt: String(knownAt), branches };
}

const newest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

function standingOf({ status, place }: SeriesGroup, own: ReadonlySet<string>): Figure['standing'] | undefined {
  switch (fateOf(status, place, own)) {
    case 'on_hand':
      return 'in_stock';
    case 'incoming':
    case 'returned':
      return 'in_transit';
    case 'shipped':
      return status !== null && ON_ITS_WAY.has(status) ? 'in_transit' : 'shipped';
    case 'unknown':
      return 'unknown';
    case 'sold':
    case 'dispensed':
    case 'written_off':
    case 'left_otherwise':
      return undefined;
  }
}
