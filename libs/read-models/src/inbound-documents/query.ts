import type { TypeKnowledge } from '#documents';
import type { DeadlineCalendar } from '#domain';
import type { Queryable } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { InboundSummary, Notification, Page } from '../port.js';
import { INBOUND_DOCUMENT, type InboundDocumentRow } from './row.js';
import { inboundSentence, problemOf } from './sentences.js';
import { inboundSummary as inboundSummaryShape, notification, type InboundListQuery } from './shape.js';
import { fieldsOf } from '../shapes.js';
import { dueOfInbound } from '../timeliness/duty.js';

/** What is known of document types; with a calendar, when they are due too. */
export interface InboundTypes extends Pick<TypeKnowledge, 'titleOf' | 'isKnown'> {
  calendar?: DeadlineCalendar | undefined;
}

/** Notifications that one answer about a document of ours shows; the list finds the others. */
const MOST_NOTIFICATIONS = 1_000;

/**
 * Concluded without bytes that can be read, or in our name without a receipt that tells how. While the other one is
 * still asked for it is not told. As in the index.
 */
export const GIVEN_UP = `phase = 'concluded' AND (document_sha256 IS NULL OR problem IS NOT NULL
  OR (direction = 'outgoing' AND outcome = 'undetermined'))`;

/**
 * One page of documents of others, the newest first. @throws PedigreeError `invalid_parameter` that names the
 * parameter.
 */
export async function listInbound(
  db: Queryable,
  query: InboundListQuery,
  types: InboundTypes,
): Promise<Page<InboundSummary>> {
  const limit = pageLimit(query.limit);
  const values: unknown[] = [limit + 1];
  const conditions = [
    ...(['direction', 'channel', 'phase', 'outcome', 'account'] as const).flatMap((name) =>
      query[name] === undefined ? [] : [`${name} = $${values.push(query[name])}`],
    ),
    ...(query.docType === undefined ? [] : [`doc_type = $${values.push(query.docType)}`]),
    ...(query.requestId === undefined ? [] : [`linked_request_id = $${values.push(query.requestId)}`]),
    ...(query.linked === undefined ? [] : [`linked_request_id IS ${query.linked ? 'NOT NULL' : 'NULL'}`]),
    ...(query.givenUp === undefined ? [] : [`${query.givenUp ? '' : 'NOT '}(${GIVEN_UP})`]),
    ...(query.cursor === undefined ? [] : [`seen_position < $${values.push(readCursor(query.cursor))}`]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const { rows } = await db.query<InboundDocumentRow>(
    `SELECT ${INBOUND_DOCUMENT.select()} FROM inbound_document ${where} ORDER BY seen_position DESC LIMIT $1`,
    values,
  );
  return pageOf(rows, limit, {
    show: (row) => inboundSummary(row, types),
    positionOf: (row) => row.seenPosition,
  });
}

/**
 * Those of an account that were given up, by their last event: what was asked for again and given up again comes behind
 * what was not asked for yet. @throws PedigreeError `invalid_parameter`.
 */
export async function longestGivenUp(
  db: Queryable,
  account: string,
  limit: number,
): Promise<{ documentIds: string[]; more: boolean }> {
  const { rows } = await db.query<{ documentId: string }>(
    `SELECT document_id AS "documentId" FROM inbound_document WHERE account = $2 AND ${GIVEN_UP}
     ORDER BY position LIMIT $1`,
    [pageLimit(limit) + 1, account],
  );
  const documentIds = rows.slice(0, limit).map((row) => row.documentId);
  return { documentIds, more: rows.length > limit };
}

/** What others told about a document of ours, the oldest first. */
export async function notificationsOf(db: Queryable, requestId: string, types: InboundTypes): Promise<Notification[]> {
  const text =
    `SELECT ${INBOUND_DOCUMENT.select()} FROM inbound_document ` +
    `WHERE linked_request_id = $1 AND phase <> 'ours' ORDER BY seen_position LIMIT ${MOST_NOTIFICATIONS}`;
  const { rows } = await db.query<InboundDocumentRow>(text, [requestId]);
  return rows.map((row) => notificationOf(row, types));
}

/** What one of them is shown as. */
export const notificationOf = (row: InboundDocumentRow, types: InboundTypes): Notification => ({
  ...shownAsNotification(row),
  title: titleFor(row, types),
  by: row.linkedBy ?? 'request_id',
});

const shownAsNotification = fieldsOf(notification);
const shown = fieldsOf(inboundSummaryShape);

const titleFor = ({ docType }: InboundDocumentRow, { titleOf }: InboundTypes): string =>
  docType === null ? 'Document of an unknown type' : titleOf(docType);

/** A type that nobody here knows: its document is kept, and what it did to its packs is not known. */
const notUnderstood = ({ docType }: InboundDocumentRow, { isKnown }: InboundTypes): { notUnderstood?: true } =>
  docType === null || isKnown(docType) ? {} : { notUnderstood: true };

/** The row as the API shows it. */
export function inboundSummary(row: InboundDocumentRow, types: InboundTypes): InboundSummary {
  const { linkedRequestId: requestId, linkedBy: by, sharedItems, operationDate } = row;
  return {
    ...shown({ ...row, problem: problemOf(row), operationDate: operationDate === '' ? null : operationDate }),
    ...dueOfInbound(types.calendar, row),
    title: titleFor(row, types),
    ...notUnderstood(row, types),
    sentence: inboundSentence(row),
    ...(requestId === null || by === null ? {} : { belongsTo: { requestId, by, ...present({ sharedItems }) } }),
  };
}
