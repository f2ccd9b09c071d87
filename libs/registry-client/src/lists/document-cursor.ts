import { defined } from '#kernel';
import type { CallOutcome, DocumentMetadata, DocumentPage, NotUnderstood, OutgoingQuery, RawAnswer } from '../port.js';
import { walkPages, type WalkOptions, type WalkOutcome } from './walk-pages.js';

/**
 * How far a document list has been read: plain data, to be kept by the reader. Times are the registry's, so that no
 * clock of ours matters.
 */
export interface DocumentCursor {
  /** Newest time of receipt that a complete reading has seen, ISO 8601; where the first reading begins. */
  since: string;
  /** Documents within the overlap that were handed out already, with their time of receipt. */
  handedOut: Record<string, string>;
}

export const cursorFrom = (since: Date): DocumentCursor => ({ since: since.toISOString(), handedOut: {} });

/**
 * What is new. `complete`: nothing since the cursor was left out, and the cursor has moved on; else the next reading
 * begins where this one did.
 */
export interface NewDocuments {
  documents: DocumentMetadata[];
  /** Entries that tell no document, also those of readings before; absent where there is none. */
  notUnderstood?: NotUnderstood[];
  cursor: DocumentCursor;
  walk: WalkOutcome<Entry>;
  /** The list goes on after what this reading was to take (`maxEntries`): the next one finds more at once. */
  more: boolean;
  /** The very answer that each document stood in, by document_id. */
  answers: Map<string, RawAnswer>;
}

type Entry = DocumentMetadata | NotUnderstood;

export interface SinceOptions extends Pick<WalkOptions<Entry>, 'pageSize' | 'maxPages' | 'again'> {
  /** How late a document may show up and still be seen. */
  overlapMs: number;
  /**
   * About how many entries one reading takes: a longer list is read from its oldest end, a stretch of time after
   * another. Default: all.
   */
  maxEntries?: number;
  /** Once it aborts no further page is asked for. */
  signal?: AbortSignal;
}

/** What a reader of a list says: from where, and how much at once. */
export type SinceQuery = Pick<SinceOptions, 'overlapMs' | 'maxPages' | 'maxEntries' | 'signal'> & {
  cursor: DocumentCursor;
};

/** Reads document lists by cursor (registry-interface 4; principles 6.10). */
export interface DocumentLists {
  /** What the list received since the cursor, each document once. */
  documentsSince(account: string, list: 'outgoing' | 'incoming', query: SinceQuery): Promise<NewDocuments>;
}

type List = (query: OutgoingQuery) => Promise<CallOutcome<DocumentPage>>;

/**
 * Reads what a document list received since the cursor, each document once over all readings. The overlap reaches back
 * before the cursor, for documents that the registry shows later than it dates them; what was handed out is told by id.
 */
export async function readSince(list: List, cursor: DocumentCursor, options: SinceOptions): Promise<NewDocuments> {
  const { overlapMs, pageSize, maxPages, again, signal } = options;
  const from = new Date(Date.parse(cursor.since) - overlapMs);
  const stoppable: List = (query) =>
    signal?.aborted === true ? Promise.resolve({ kind: 'not_sent', reason: 'stopping' }) : list(query);
  const mayAgain: NonNullable<typeof again> = async (...failed) =>
    signal?.aborted !== true && (await again?.(...failed)) === true;
  const first = await begun(() => firstPage(stoppable, { from, since: cursor.since, ...options }), mayAgain);
  let { to, outcome: ready }: { to?: Date | undefined; outcome?: PageOutcome | undefined } = first;
  const answers = new Map<string, RawAnswer>();
  const walk =
    first.endless ??
    (await walkPages<Entry>({
      read: async (offset, limit) => {
        const isAnew = ready === undefined && offset === 0;
        const outcome = ready ?? (await stoppable({ from, ...defined({ to }), offset, limit }));
        ready = undefined;
        if (outcome.kind !== 'ok') return outcome;
        if (isAnew) to ??= await endOf(stoppable, { from, pageSize, page: outcome.value });
        for (const { documentId } of outcome.value.documents) answers.set(documentId, outcome.raw);
        return { ...outcome, value: { items: entriesOf(outcome.value), total: outcome.value.total } };
      },
      keyOf: (entry) => (isDocument(entry) ? entry.documentId : entry.written),
      pageSize,
      ...defined({ maxPages }),
      again: (...failed) => (first.outcome.kind === 'ok' ? mayAgain(...failed) : Promise.resolve(false)),
    }));
  const { shown, ...rest } = partsOf(walk.items);
  const documents = shown.filter((document) => !Object.hasOwn(cursor.handedOut, document.documentId));
  const handedOut = {
    ...cursor.handedOut,
    ...Object.fromEntries(documents.map((document) => [document.documentId, document.receivedAt ?? cursor.since])),
  };
  const read = { documents, walk, more: first.isCut, answers, ...rest };
  if (walk.kind !== 'complete') return { ...read, cursor: { since: cursor.since, handedOut } };
  const since = first.isCut && to !== undefined ? to.toISOString() : newestOf(shown, cursor.since);
  return { ...read, cursor: { since, handedOut: stillOverlapping(handedOut, since, overlapMs) } };
}

const isDocument = (entry: Entry): entry is DocumentMetadata => 'documentId' in entry;

function partsOf(entries: Entry[]): { shown: DocumentMetadata[]; notUnderstood?: NotUnderstood[] } {
  const notUnderstood = entries.filter((entry): entry is NotUnderstood => !isDocument(entry));
  return { shown: entries.filter(isDocument), ...(notUnderstood.length === 0 ? {} : { notUnderstood }) };
}

/** All entries of a page in its order. */
function entriesOf({ documents, notUnderstood = [] }: DocumentPage): Entry[] {
  const entries: Entry[] = [...documents];
  for (const one of notUnderstood) entries.splice(one.at, 0, one);
  return entries;
}

/** When the newest of the documents was received; `since` where none is newer. */
const newestOf = (documents: DocumentMetadata[], since: string): string =>
  documents.reduce(
    (newest, { receivedAt }) => (receivedAt !== undefined && receivedAt > newest ? receivedAt : newest),
    since,
  );

/** The documents that the next reading may meet again. */
function stillOverlapping(handedOut: Record<string, string>, since: string, overlapMs: number): Record<string, string> {
  const oldest = new Date(Date.parse(since) - overlapMs - SECOND_MS).toISOString();
  return Object.fromEntries(Object.entries(handedOut).filter(([, time]) => time >= oldest));
}

type PageOutcome = Awaited<ReturnType<List>>;
interface FirstPage {
  outcome: PageOutcome;
  /** Where the reading ends; undefined while that is open. */
  to: Date | undefined;
  /** It ends before the list does. */
  isCut: boolean;
  /** The list is longer than a reading takes, and shows no time to cut it at: nothing of it is read. */
  endless?: WalkOutcome<Entry>;
}
const MAX_HALVINGS = 40;

/** How much a reading takes is known by a first page alone, so one that failed is asked for as a first page again. */
async function begun(
  begin: () => Promise<FirstPage>,
  mayAgain: NonNullable<SinceOptions['again']>,
): Promise<FirstPage> {
  for (let failures = 1; ; failures += 1) {
    const first = await begin();
    if (first.outcome.kind === 'ok' || !(await mayAgain(first.outcome, failures))) return first;
  }
}

/**
 * The first page, of a stretch of time that holds no more than it should: the end is moved towards the cursor by
 * halves. It stays behind the cursor, so that each reading comes further, however much lies within the overlap.
 */
async function firstPage(list: List, options: SinceOptions & { from: Date; since: string }): Promise<FirstPage> {
  const { from, since, pageSize, maxEntries = Infinity } = options;
  const sinceMs = Date.parse(since);
  let to: Date | undefined;
  for (let halvings = 0; ; halvings += 1) {
    const outcome = await list({ from, ...defined({ to }), offset: 0, limit: pageSize });
    const isCut = to !== undefined;
    if (outcome.kind !== 'ok') return { outcome, to, isCut };
    const endless = isCut ? undefined : endlessOf(outcome.value, maxEntries);
    if (endless !== undefined) return { outcome, to, isCut, endless };
    const end = to ?? (await endOf(list, { from, pageSize, page: outcome.value }));
    // A stretch of time is cut off by a filter, so this needs no order of the list.
    const restMs = Math.max(end?.getTime() ?? 0, ...timesOf(outcome.value)) - sinceMs;
    if (outcome.value.total <= maxEntries || restMs <= 2 * SECOND_MS || halvings >= MAX_HALVINGS)
      return { outcome, to: end, isCut };
    to = new Date(sinceMs + Math.ceil(restMs / 2 / SECOND_MS) * SECOND_MS);
  }
}

/**
 * Where a page gives no time to cut a list at that is too long. Of the page only what is not understood is told: a
 * document counts as seen with the answer of a walk.
 */
function endlessOf(page: DocumentPage, maxEntries: number): WalkOutcome<Entry> | undefined {
  const { total, notUnderstood: items = [] } = page;
  if (total <= maxEntries || timesOf(page).length > 0) return undefined;
  const reason = `the list has ${total} entries, and the first of them tell no time of receipt to cut it at`;
  return { kind: 'unsettled', reason, items, restarts: 0, pages: 1 };
}

/**
 * Where a reading of several pages ends: at the newest document of the list. What comes meanwhile would move every page
 * under us, faster than we may read when much is sent; it is left to the next reading, whose cursor begins here.
 *
 * The interface names no order. Newest first, the first page tells; oldest first, the last one does; in no order the
 * reading has no end but that of the list, for whatever lay behind it would count as read.
 */
async function endOf(
  list: List,
  { from, pageSize, page }: { from: Date; pageSize: number; page: DocumentPage },
): Promise<Date | undefined> {
  const { documents, total } = page;
  const times = timesOf(page);
  if (documents.length >= total || times.length === 0) return undefined;
  if (isSorted(times, -1) && (times[0] as number) > (times.at(-1) as number)) return endOfSecond(times);
  if (!isSorted(times, 1)) return undefined;
  const offset = Math.max(0, total - pageSize);
  const last = await list({ from, offset, limit: pageSize });
  if (last.kind !== 'ok') return undefined;
  const lastTimes = timesOf(last.value);
  // What has come meanwhile lies behind the last page of a list that goes on with its newest.
  const isWhole = offset + last.value.documents.length >= last.value.total;
  return isWhole || isSorted(lastTimes, 1) ? endOfSecond([...times, ...lastTimes]) : undefined;
}

const timesOf = ({ documents }: DocumentPage): number[] =>
  documents.map((document) => Date.parse(document.receivedAt ?? '')).filter((time) => !Number.isNaN(time));

/** `by`: 1 where none is older than the one before it, -1 where none is newer, to the second. */
const isSorted = (times: number[], by: 1 | -1): boolean =>
  times.every((time, at) => at === 0 || by * (secondOf(time) - secondOf(times[at - 1] as number)) >= 0);
const secondOf = (time: number): number => Math.floor(time / SECOND_MS);

const endOfSecond = (times: number[]): Date => new Date(Math.ceil(Math.max(...times) / SECOND_MS) * SECOND_MS);

/** Filters know whole seconds, so the registry may show a document that is up to one older than asked for. */
const SECOND_MS = 1_000;
