import type { ReadOutcome } from '../call/read-outcome.js';

export interface Page<T> {
  items: T[];
  /** How many there are in all, as this answer says. */
  total: number;
  /** Records without what tells them apart, of a list that sets these aside. They count in `total`. */
  strange?: StrangeRecord[];
}

/** A record that nobody understands: where it stands among all records of its page, and as it came. */
export interface StrangeRecord {
  at: number;
  written: string;
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

type ReadFailure<T> = Exclude<ReadOutcome<Page<T>>, { kind: 'ok' }>;

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
 *
 * Where the order is not kept, entries that change places between two calls show in the number: one comes twice, and
 * the round has fewer than the total. Such a round is not the end. Where the next one shows the same entries, the total
 * counts some of them twice.
 */
export async function walkPages<T>(options: WalkOptions<T>): Promise<WalkOutcome<T>> {
  const { pageSize, again, fixedPages, maxPages, maxRestarts } = { ...DEFAULTS, ...options };
  if (!fixedPages && pageSize < 2) throw new RangeError('a page of a walk holds at least 2 entries');
  let round = newRound<T>();
  let short: Round<T> | undefined;
  let restarts = 0;
  let failures = 0;
  const walked = (pages: number): Walked<T> => ({ items: [...round.seen.values()], restarts, pages });
  for (let pages = 1; pages <= maxPages; pages += 1) {
    const outcome = await options.read(round.place.offset, pageSize);
    if (outcome.kind !== 'ok') {
      failures += 1;
      if (await again(outcome, failures)) continue;
      return { kind: 'stopped', outcome, ...walked(pages) };
    }
    failures = 0;
    const manner = { keyOf: options.keyOf, pageSize, fixedPages, heedsTotal: restarts < maxRestarts };
    const step = takePage(round, outcome.value, manner);
    if (step === 'next') continue;
    if (step === 'end') {
      if (!isShort(round, outcome.value.total) || showsTheSame(round, short))
        return { kind: 'complete', ...walked(pages) };
      short = round;
    }
    if (restarts >= maxRestarts)
      return { kind: 'unsettled', reason: `the list moved in each of ${restarts + 1} rounds`, ...walked(pages) };
    restarts += 1;
    round = newRound();
  }
  return { kind: 'unsettled', reason: `more than ${maxPages} pages`, ...walked(maxPages) };
}

/** One way through the list, from its first page on. */
interface Round<T> {
  seen: Map<string, T>;
  place: Place;
  /** All its pages have told the same total. */
  isSteady: boolean;
}

const newRound = <T>(): Round<T> => ({ seen: new Map(), place: START, isSteady: true });

/** Takes a page into the round. `lost`: the list has moved, and the round is of no use. */
function takePage<T>(
  round: Round<T>,
  { items, total }: Page<T>,
  { keyOf, heedsTotal, ...page }: Omit<PageSeen, 'total'> & { keyOf: (item: T) => string; heedsTotal: boolean },
): 'next' | 'end' | 'lost' {
  const step = stepFrom(round.place, items.map(keyOf), { total, ...page });
  const hasMoved = hasChanged(round.place, total);
  if (step === 'lost' || (heedsTotal && hasMoved)) return 'lost';
  for (const item of items) round.seen.set(keyOf(item), item);
  if (hasMoved) round.isSteady = false;
  if (step === 'end') return 'end';
  round.place = step;
  return 'next';
}

/** Whether it has shown fewer entries than there are. A total that has changed meanwhile does not tell. */
const isShort = <T>({ seen, isSteady }: Round<T>, total: number): boolean => isSteady && seen.size < total;

const showsTheSame = <T>({ seen }: Round<T>, before: Round<T> | undefined): boolean =>
  before?.seen.size === seen.size && [...seen.keys()].every((key) => before.seen.has(key));

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
