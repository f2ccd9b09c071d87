import type { DeadlineCalendar } from '#domain';
import type { Queryable } from '#postgres';
import { pageLimit, pageOf, readCursor } from '../list-page.js';
import type { DocumentListQuery, DocumentSummary, OutcomeCounts, Page, WaitedFor } from '../port.js';
import { holdsOf } from './holds.js';
import { noDocuments } from './fold.js';
import { DOCUMENT_COUNT, DOCUMENT_OUTCOME, type DocumentCountRow, type DocumentOutcomeRow } from './row.js';
import { wordsFor } from './sentences.js';
import { documentSummary } from './shape.js';
import { fieldsOf } from '../shapes.js';
import { clocksOf, type ClockStart } from '../timeliness/clock.js';
import { dueOfOwn } from '../timeliness/duty.js';

/**
 * One page of documents, newest registration first. The cursor is the log position of the page's last registration, so
 * documents that arrive meanwhile neither shift nor repeat a line. A page reads its own rows through the index of its
 * filter, which ends in the list's order; where several filters are set, through the one of the rarest. Throws
 * PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listDocuments(
  db: Queryable,
  query: DocumentListQuery,
  { received, calendar }: { received: Received; calendar?: DeadlineCalendar | undefined },
): Promise<Page<DocumentSummary>> {
  const limit = pageLimit(query.limit);
  const { rows } = await db.query<DocumentOutcomeRow>(selectDocuments(query, limit + 1));
  const shownRows = rows.slice(0, limit);
  const waitingFor = await waitedFor(shownRows, received);
  const clocks = await clocksFor(db, shownRows, calendar);
  return pageOf(rows, limit, {
    show: (row) => summaryOf(row, { waitingFor: waitingFor(row), calendar, clock: clocks.get(row.requestId) }),
    positionOf: (row) => row.registeredPosition,
  });
}

/** Filters of the list that compare one column. */
const COMPARED = ['outcome', 'cause', 'account', 'docType', 'requestId', 'reference'] as const;

/** By what a due moment is told. */
export interface Timing {
  calendar?: DeadlineCalendar | undefined;
  clock?: ClockStart | undefined;
}

/** The statement of a page, for the list and for the test of its plan. */
export function selectDocuments(query: DocumentListQuery, limit: number): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const isOpen = query.phase !== undefined && query.phase !== 'concluded';
  // The small table leads where it can: place and time are then looked for in its index, and each row of the large one
  // is fetched by its key.
  const open = isOpen
    ? `JOIN document_open o ON o.registered_position = d.registered_position AND o.phase = ${given(query.phase)}`
    : '';
  const conditions = [
    ...(query.phase === 'concluded' ? [`d.outcome IS NOT NULL AND d.phase = 'concluded'`] : []),
    ...COMPARED.flatMap((property) =>
      query[property] === undefined ? [] : [`d.${DOCUMENT_OUTCOME.nameOf(property)} = ${given(query[property])}`],
    ),
    ...(query.duplicate === undefined ? [] : [query.duplicate ? 'd.duplicate' : 'NOT d.duplicate']),
    ...placeOf(query, isOpen ? 'o' : 'd', given),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const order = `${isOpen ? 'o' : 'd'}.registered_at DESC, ${isOpen ? 'o' : 'd'}.registered_position DESC`;
  const text = `SELECT ${DOCUMENT_OUTCOME.select({ of: 'd' })} FROM document_outcome d ${open} ${where}
    ORDER BY ${order} LIMIT ${limit}`;
  return { text, values };
}

/**
 * Time and place in the list, by the two columns in which each of its indexes ends. A cursor stands at its own row, or,
 * while a rebuild has not come so far, at the newest one before it.
 */
function placeOf(query: DocumentListQuery, of: 'd' | 'o', given: (value: unknown) => string): string[] {
  const { registeredFrom, registeredTo, cursor } = query;
  const position = cursor === undefined ? '' : given(readCursor(cursor));
  return [
    ...(registeredFrom === undefined ? [] : [`${of}.registered_at >= ${given(registeredFrom)}`]),
    ...(registeredTo === undefined ? [] : [`${of}.registered_at < ${given(registeredTo)}`]),
    ...(cursor === undefined
      ? []
      : [
          `(${of}.registered_at, ${of}.registered_position) < ((SELECT c.registered_at FROM document_outcome c
             WHERE c.registered_position <= ${position} ORDER BY c.registered_position DESC LIMIT 1), ${position})`,
        ]),
  ];
}

export async function countOutcomes(db: Queryable): Promise<OutcomeCounts> {
  const { rows } = await db.query<DocumentCountRow>(`SELECT ${DOCUMENT_COUNT.select()} FROM document_outcome_count`);
  const { documents, accepted, partial, rejected, failed } = rows[0] ?? noDocuments();
  return {
    documents: Number(documents),
    accepted: Number(accepted),
    partial: Number(partial),
    rejected: Number(rejected),
    failed: Number(failed),
    unfinished: Number(documents - accepted - partial - rejected - failed),
  };
}

/** Which of these request_ids belong to commands that were received. */
export type Received = (requestIds: string[]) => Promise<Set<string>>;

/** What each of these documents is held for, asked of `received` all at once. */
export async function waitedFor(
  rows: DocumentOutcomeRow[],
  received: Received,
): Promise<(row: DocumentOutcomeRow) => WaitedFor[]> {
  const requestIds = new Set(rows.flatMap((row) => row.waitingFor.map((one) => one.requestId)));
  const known = requestIds.size === 0 ? new Set<string>() : await received([...requestIds]);
  return (row) =>
    row.waitingFor.map(({ since: _, ...one }) => ({ ...one, known: known.has(one.requestId) || 'items' in one }));
}

/** Where nobody tells of commands that are still to be run: what has a row here was received. */
export async function registered(db: Queryable, requestIds: string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ request_id: string }>(
    'SELECT request_id FROM document_outcome WHERE request_id = ANY($1::text[])',
    [requestIds],
  );
  return new Set(rows.map((row) => row.request_id));
}

/** What may start the clock of each, by request_id; nothing where no calendar asks. */
export const clocksFor = async (
  db: Queryable,
  rows: readonly DocumentOutcomeRow[],
  calendar: DeadlineCalendar | undefined,
): Promise<Map<string, ClockStart>> =>
  calendar === undefined
    ? new Map()
    : clocksOf(
        db,
        rows.map(({ requestId }) => requestId),
      );

const shown = fieldsOf(documentSummary);

/**
 * The row as the API shows it; with the receipt's errors, where they were read, the sentence names the reasons. When it
 * is due follows from the calendar, where there is one.
 */
export function summaryOf(
  row: DocumentOutcomeRow,
  { calendar, clock, ...beside }: { waitingFor: WaitedFor[]; errors?: { text: string }[] } & Timing,
): DocumentSummary {
  const { waitingFor } = beside;
  const words = wordsFor({ ...row, ...beside });
  return { ...shown(row), ...dueOfOwn(calendar, row, clock), waitingFor, holds: holdsOf(row), ...words };
}

/**
 * Which of these request_ids are documents of ours, each with the registry's id as far as it is known. Not those that
 * ended without the registry having them: what is there under such a request_id is another. As far as the log has been
 * read.
 */
export async function documentIdsOf(db: Queryable, requestIds: string[]): Promise<Map<string, string | undefined>> {
  const text =
    'SELECT request_id, document_id FROM document_outcome WHERE request_id = ANY($1::text[]) AND (outcome IS NULL OR ' +
    'document_id IS NOT NULL)';
  const { rows } = await db.query<{ request_id: string; document_id: string | null }>({
    name: 'document-ids-of',
    text,
    values: [requestIds],
  });
  return new Map(rows.map((row) => [row.request_id, row.document_id ?? undefined]));
}
