import type { ProductSeries } from '#domain';
import { defined } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { PackTypes } from '../pack-state/now.js';
import { ON_ITS_WAY } from '../pack-state/fold.js';
import {
  branchOf,
  commonToSeries,
  fateOf,
  groupsOfSeries,
  type CommonToSeries,
  type SeriesGroup,
} from '../pack-state/series-file.js';
import type { Asked } from '../pack-state/series-sources.js';
import type { AffectedPacks, PacksOfUnknownSeries, SuspensionDetail } from '../port.js';

/** What our record holds of a suspension. */
export type AffectedRecord = Pick<SuspensionDetail, 'affected' | 'seriesUnknown'>;
type Figure = AffectedPacks['branches'][number];

export interface AffectedContext {
  types: PackTypes;
  /** Recent is what the registry accepted from this moment on. */
  recentFrom: Date;
  /** Where it is read already. */
  common?: CommonToSeries;
}

/**
 * Packs of these series that still concern somebody, by branch: in stock, on their way, shipped. Beside them, in the
 * same way, the packs whose series no document has told: any may be of one of these series. They belong to a product
 * and not to a series, so each product stands once, and each pack counts once. `db` reads one snapshot.
 */
export async function affectedPacks(
  db: Queryable,
  matches: readonly ProductSeries[],
  { types, recentFrom }: AffectedContext,
): Promise<AffectedRecord> {
  const context = { types, recentFrom, common: await commonToSeries(db) };
  const affected: AffectedPacks[] = [];
  for (const one of matches) affected.push({ ...one, ...(await affectedBranches(db, one, context)) });
  const seriesUnknown: PacksOfUnknownSeries[] = [];
  for (const gtin of new Set(matches.map((one) => one.gtin)))
    seriesUnknown.push(await ofUnknownSeries(db, gtin, context));
  return { affected, seriesUnknown };
}

async function ofUnknownSeries(db: Queryable, gtin: string, context: AffectedContext): Promise<PacksOfUnknownSeries> {
  const { branches, knownAt } = await affectedBranches(db, { gtin, series: null }, context);
  const packs = branches.reduce((sum, one) => sum + one.packs, 0);
  const query = new URLSearchParams({ gtin, series_unknown: 'true', fate: CONCERNING.join(',') });
  return { gtin, knownAt, packs, packsAt: `/v1/packs?${query.toString()}`, branches };
}

/** The packs of a series, or of none that a document has told, by branch, standing and place. */
export async function affectedBranches(
  db: Queryable,
  asked: Asked,
  { types, recentFrom, common }: AffectedContext,
): Promise<{ branches: Figure[]; knownAt: string }> {
  const { groups, own, knownAt } = await groupsOfSeries(db, { ...asked, ...defined({ common }) }, types);
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
  return { branches, knownAt: String(knownAt) };
}

const newest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

/** Fates of packs that still concern somebody: all that have a standing. */
const CONCERNING = ['on_hand', 'incoming', 'returning', 'shipped', 'returned', 'unknown'];

function standingOf(group: SeriesGroup, own: ReadonlySet<string>): Figure['standing'] | undefined {
  const { status } = group;
  switch (fateOf(group, own)) {
    case 'on_hand':
      return 'in_stock';
    case 'incoming':
    case 'returning':
      return 'in_transit';
    case 'shipped':
    case 'returned':
      return status !== null && ON_ITS_WAY.has(status) ? 'in_transit' : 'shipped';
    case 'unknown':
      return 'unknown';
    case 'not_received':
    case 'sold':
    case 'dispensed':
    case 'written_off':
    case 'left_otherwise':
      return undefined;
  }
}
