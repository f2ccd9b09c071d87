/** What one call of a method takes, by the profile. */
interface CallSize {
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
  way: Exclude<Way, 'list'>;
  calls: number;
  /** A method's calls keep their interval, so this is what a way takes, however fast the registry answers. */
  ms: number;
}

/** Part of the packs of an export about which the live registry is asked again, as it is reckoned. */
const DOUBTFUL = 0.01;

/**
 * What each way of reading all packs of the registry costs, the cheapest first: by time, for a call costs its interval,
 * and of equal ones by calls. What a filter or an export leaves out is asked for by list. A list by itself is none of
 * them: it never shows a pack that the registry alone has, so a person must ask for it. Calls to the archive are the
 * same for both, and are not counted. An export of an unknown number of packs cannot be priced, and is left out.
 */
export function wayCosts({ items, expected, filter, list, export: steps }: WaysAsked): [WayCost, ...WayCost[]] {
  const pages = filterPages(expected ?? 0, filter.pageSize);
  const rest = Math.ceil(Math.max(0, items - (expected ?? 0)) / list.pageSize);
  const byFilter: WayCost = {
    way: 'filter',
    calls: pages + rest,
    ms: pages * filter.intervalMs + rest * list.intervalMs,
  };
  if (steps === undefined || expected === null) return [byFilter];
  const byName = Math.ceil((Math.max(0, items - expected) + expected * DOUBTFUL) / list.pageSize);
  const waited = steps.reduce((sum, one) => sum + one, 0);
  const byExport: WayCost = { way: 'export', calls: steps.length + byName, ms: waited + byName * list.intervalMs };
  const isCheaper = (byExport.ms - byFilter.ms || byExport.calls - byFilter.calls) < 0;
  return isCheaper ? [byExport, byFilter] : [byFilter, byExport];
}

/** Each page but the first begins with the last entry of the one before. */
export const filterPages = (total: number, pageSize: number): number =>
  Math.max(1, Math.ceil((total - 1) / Math.max(1, pageSize - 1)));
