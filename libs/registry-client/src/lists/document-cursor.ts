import type { CallOutcome, DocumentMetadata, OutgoingQuery } from '../port.js';
import { walkPages, type WalkOptions, type WalkOutcome } from './walk-pages.js';

/** How far a document list has been read: plain data, to be kept by the reader. Times are the registry's, so that no clock of ours matters. */
export interface DocumentCursor {
  /** Newest time of receipt that a complete reading has seen, ISO 8601; where the first reading begins. */
  since: string;
  /** Documents within the overlap that were handed out already, with their time of receipt. */
  handedOut: Record<string, string>;
}

export const cursorFrom = (since: Date): DocumentCursor => ({ since: since.toISOString(), handedOut: {} });

/** What is new. `complete`: nothing since the cursor was left out, and the cursor has moved on; else the next reading begins where this one did. */
export interface NewDocuments {
  documents: DocumentMetadata[];
  cursor: DocumentCursor;
  walk: WalkOutcome<DocumentMetadata>;
}

export interface SinceOptions extends Pick<WalkOptions<DocumentMetadata>, 'pageSize' | 'maxPages' | 'again'> {
  /** How late a document may show up and still be seen. */
  overlapMs: number;
}

type List = (query: OutgoingQuery) => Promise<CallOutcome<{ documents: DocumentMetadata[]; total: number }>>;

/**
 * Reads what a document list received since the cursor, each document once over all readings. The overlap reaches back before the cursor,
 * for documents that the registry shows later than it dates them; what was handed out is told by id.
 */
export async function readSince(list: List, cursor: DocumentCursor, options: SinceOptions): Promise<NewDocuments> {
  const { overlapMs, pageSize, maxPages, again } = options;
  const from = new Date(Date.parse(cursor.since) - overlapMs);
  let to: Date | undefined;
  const walk = await walkPages<DocumentMetadata>({
    read: async (offset, limit) => {
      const outcome = await list({ from, ...(to === undefined ? {} : { to }), offset, limit });
      if (outcome.kind === 'ok') to ??= endOf(outcome.value);
      return outcome.kind === 'ok' ? { ...outcome, value: { items: outcome.value.documents, total: outcome.value.total } } : outcome;
    },
    keyOf: (document) => document.documentId,
    pageSize,
    ...(maxPages === undefined ? {} : { maxPages }),
    ...(again === undefined ? {} : { again }),
  });
  const documents = walk.items.filter((document) => !Object.hasOwn(cursor.handedOut, document.documentId));
  const dated = (document: DocumentMetadata): string => document.receivedAt ?? cursor.since;
  const handedOut = { ...cursor.handedOut, ...Object.fromEntries(documents.map((document) => [document.documentId, dated(document)])) };
  if (walk.kind !== 'complete') return { documents, cursor: { since: cursor.since, handedOut }, walk };
  const since = walk.items.map(dated).reduce((newest, time) => (time > newest ? time : newest), cursor.since);
  const oldest = new Date(Date.parse(since) - overlapMs - SECOND_MS).toISOString();
  return { documents, cursor: { since, handedOut: Object.fromEntries(Object.entries(handedOut).filter(([, time]) => time >= oldest)) }, walk };
}

/**
 * Where a reading of several pages ends: at the newest document of its first page. What comes meanwhile would move every page under us, faster
 * than we may read when much is sent; it is left to the next reading, whose cursor begins here.
 */
function endOf({ documents, total }: { documents: DocumentMetadata[]; total: number }): Date | undefined {
  const times = documents.map((document) => Date.parse(document.receivedAt ?? '')).filter((time) => !Number.isNaN(time));
  if (documents.length >= total || times.length === 0) return undefined;
  return new Date(Math.ceil(Math.max(...times) / SECOND_MS) * SECOND_MS);
}

/** Filters know whole seconds, so the registry may show a document that is up to one older than asked for. */
const SECOND_MS = 1_000;
