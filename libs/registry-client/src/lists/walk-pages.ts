import type { ReadOutcome } from '../call/read-outcome.js';

export interface Page<T> {
  items: T[];
  /** How many there are in all, as this answer says. */
  total: number;
}

/** What a walk has read, in its last round, each entry once; and what it took. */
interface Walked<T> {
  items: T[];
  restarts: number;
  pages: number;
}

/**
 * The outcomes of a walk. `unsettled`: the list changed so often, or is so long, that a limit ended the walk: nothing
 * is claimed of its items.
 */
export type WalkOutcome<T> =
  | ({ kind: 'complete' } & Walked<T>)
  | ({ kind: 'unsettled'; reason: string } & Walked<T>)
  | ({ kind: 'stopped'; outcome: ReadFailure<T> } & Walked<T>);

export interface WalkOptions<T> {
  read: (offset: number, limit: number) => Promise<ReadOutcome<Page<T>>>;
  /** Tells an entry from all others. */
  keyOf: (item: T) => string;
  /** Entries that a page is asked for. At least 2, unless `fixedPages`. */
  pageSize: number;
  /** Pages read in all, restarts and failures included; the walk ends there. */
  maxPages?: number;
  maxRestarts?: number;
  /**
   * The registry counts in whole pages, so that no page can begin with the last entry of the one before; then the total
   * alone tells of changes.
   */
  fixedPages?: boolean;
  /** Whether a page that failed is to be read again, once this resolves. Without it the walk stops at the first. */
  again?: (outcome: ReadFailure<T>, failuresInARow: number) => Promise<boolean>;
}

export type ReadFailure<T> = Exclude<ReadOutcome<Page<T>>, { kind: 'ok' }>;

const DEFAULTS = { fixedPages: false, maxPages: 10_000, maxRestarts: 10, again: () => Promise.resolve(false) };

/**
 * Reads a whole list page by page while others change it (public-facts 1.2: the total may change between pages).
 *
 * Each page begins with the last entry of the one before, the anchor. Promise of `complete`: every entry that was in
 * the list from the first call of the last round to its end is among the items, as long as the registry keeps the order
 * of those that stay. Proof: what stood before the anchor has been read, and what came after it comes after it in
 * the next page, if that page shows the anchor at all. Where it does not, the list has moved under us, and the walk
 * begins anew. It does so too when the total changes, while restarts are left; after that the anchor alone decides,
 * else a busy list could never be read.
 */
export async function walkPages<T>(options: WalkOptions<T>): Promise<WalkOutcome<T>> {
  const { keyOf, pageSize, again, fixedPages, maxPages, maxRestarts } = { ...DEFAULTS, ...options };
  if (!fixedPages && pageSize < 2) throw new RangeError('a page of a walk holds at least 2 entries');
  let seen = new Map<string, T>();
  let place = START;
  let restarts = 0;
  let failures = 0;
  const walked = (pages: number): Walked<T> => ({ items: [...seen.values()], restarts, pages });
  for (let pages = 1; pages <= maxPages; pages += 1) {
    const outcome = await options.read(place.offset, pageSize);
    if (outcome.kind !== 'ok') {
      failures += 1;
      if (await again(outcome, failures)) continue;
      return { kind: 'stopped', outcome, ...walked(pages) };
    }
    failures = 0;
    const { items, total } = outcome.value;
    const keys = items.map(keyOf);
    const step = stepFrom(place, keys, { total, pageSize, fixedPages });
    if (step === 'lost' || (restarts < maxRestarts && hasChanged(place, total))) {
      if (restarts >= maxRestarts)
        return { kind: 'unsettled', reason: `the list moved in each of ${restarts + 1} rounds`, ...walked(pages) };
      restarts += 1;
      [place, seen] = [START, new Map()];
      continue;
    }
    for (const item of items) seen.set(keyOf(item), item);
    if (step === 'end') return { kind: 'complete', ...walked(pages) };
    place = step;
  }
  return { kind: 'unsettled', reason: `more than ${maxPages} pages`, ...walked(maxPages) };
}

interface Place {
  offset: number;
  /** Key of the entry with which the page is to begin. */
  anchor: string | undefined;
  /** As the page before said. */
  total: number | undefined;
}
const START: Place = { offset: 0, anchor: undefined, total: undefined };
type Step = Place | 'end' | 'lost';

const hasChanged = (place: Place, total: number): boolean => place.total !== undefined && place.total !== total;

interface PageSeen {
  total: number;
  pageSize: number;
  fixedPages: boolean;
}

const stepFrom = (place: Place, keys: string[], page: PageSeen): Step =>
  page.fixedPages ? stepByPage(place, keys, page) : stepByAnchor(place, keys, page.total);

function stepByAnchor(place: Place, keys: string[], total: number): Step {
  if (place.anchor !== undefined && !keys.includes(place.anchor)) return 'lost';
  if (keys.length === 0) return place.offset < total ? 'lost' : 'end';
  // An entry that comes twice may have taken another's place, or none: counted once, it can only make the next page
  // begin too early.
  const distinct = [...new Set(keys)];
  if (place.offset + distinct.length >= total) return 'end';
  const advance = distinct.length > 1 ? distinct.length - 1 : keys.length - 1;
  return advance === 0 ? 'lost' : { offset: place.offset + advance, anchor: distinct.at(-1), total };
}

/**
 * A page that is shorter than asked for and not the last: this registry's pages are smaller than ours, and the number
 * of the next one would be wrong.
 */
function stepByPage(place: Place, keys: string[], { total, pageSize }: PageSeen): Step {
  const entries = new Set(keys).size;
  if (place.offset + entries >= total) return 'end';
  return entries < pageSize ? 'lost' : { offset: place.offset + pageSize, anchor: undefined, total };
}
