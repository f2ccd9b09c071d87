/** What one call of a method takes, by the profile. */
export interface CallSize {
  /** Packs of one call. */
  pageSize: number;
  intervalMs: number;
}

export interface WaysAsked {
  /** Packs that are known by name. */
  items: number;
  /** Packs that the registry is expected to have of us; null: not known. */
  expected: number | null;
  filter: CallSize;
  list: CallSize;
  /** Intervals of the calls that an export takes; absent: its rows are too old. */
  export?: readonly number[] | undefined;
}

export type Way = 'filter' | 'list' | 'export';

export interface WayCost {
  way: Way;
  calls: number;
  /** A method's calls keep their interval, so this is what a way takes, however fast the registry answers. */
  ms: number;
}

/** Part of the packs of an export about which the live registry is asked again, as it is reckoned. */
const DOUBTFUL = 0.01;

/**
 * What each way of reading the registry's packs costs, the cheapest first: by time, for a call costs its interval, and
 * of equal ones by calls. Packs that the filter may leave out are asked for by list. Calls to the archive are the same
 * for both, and are not counted. A way that cannot be priced or finds nothing is left out.
 */
export function wayCosts({ items, expected, filter, list, export: steps }: WaysAsked): WayCost[] {
  const byList = Math.ceil(items / list.pageSize);
  const costs: WayCost[] = items === 0 ? [] : [{ way: 'list', calls: byList, ms: byList * list.intervalMs }];
  if (expected !== null || items === 0) {
    const pages = filterPages(expected ?? 0, filter.pageSize);
    const rest = Math.ceil(Math.max(0, items - (expected ?? 0)) / list.pageSize);
    costs.push({ way: 'filter', calls: pages + rest, ms: pages * filter.intervalMs + rest * list.intervalMs });
  }
  if (steps !== undefined && expected !== null) {
    const byName = Math.ceil((Math.max(0, items - expected) + expected * DOUBTFUL) / list.pageSize);
    const waited = steps.reduce((sum, one) => sum + one, 0);
    costs.push({ way: 'export', calls: steps.length + byName, ms: waited + byName * list.intervalMs });
  }
  return costs.sort((a, b) => a.ms - b.ms || a.calls - b.calls);
}

/** Each page but the first begins with the last entry of the one before. */
export const filterPages = (total: number, pageSize: number): number =>
  Math.max(1, Math.ceil((total - 1) / Math.max(1, pageSize - 1)));
