import type { Queryable } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { InboundListQuery, InboundSummary, Notification, Page } from '../port.js';
import { INBOUND_DOCUMENT, type InboundDocumentRow } from './row.js';
import { inboundSentence } from './sentences.js';
import { inboundSummary as inboundSummaryShape, notification } from './shape.js';
import { fieldsOf } from '../shapes.js';

/** Notifications that one answer about a document of ours shows; the list finds the others. */
const MOST_NOTIFICATIONS = 1_000;

/**
 * One page of documents of others, the newest first. @throws PedigreeError `invalid_parameter` that names the
 * parameter.
 */
export async function listInbound(
  db: Queryable,
  query: InboundListQuery,
  titleOf: (docType: number) => string,
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
    ...(query.cursor === undefined ? [] : [`seen_position < $${values.push(readCursor(query.cursor))}`]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const { rows } = await db.query<InboundDocumentRow>(
    `SELECT ${INBOUND_DOCUMENT.select()} FROM inbound_document ${where} ORDER BY seen_position DESC LIMIT $1`,
    values,
  );
  return pageOf(rows, limit, {
    show: (row) => inboundSummary(row, titleOf),
    positionOf: (row) => row.seenPosition,
  });
}

/** What others told about a document of ours, the oldest first. */
export async function notificationsOf(
  db: Queryable,
  requestId: string,
  titleOf: (docType: number) => string,
): Promise<Notification[]> {
  const text =
    `SELECT ${INBOUND_DOCUMENT.select()} FROM inbound_document ` +
    `WHERE linked_request_id = $1 AND phase <> 'ours' ORDER BY seen_position LIMIT ${MOST_NOTIFICATIONS}`;
  const { rows } = await db.query<InboundDocumentRow>(text, [requestId]);
  return rows.map((row) => ({
    ...shownAsNotification(row),
    title: titleFor(row, titleOf),
    by: row.linkedBy ?? 'request_id',
  }));
}

const shownAsNotification = fieldsOf(notification);
const shown = fieldsOf(inboundSummaryShape);

const titleFor = (row: InboundDocumentRow, titleOf: (docType: number) => string): string =>
  row.docType === null ? 'Document of an unknown type' : titleOf(row.docType);

/** The row as the API shows it. */
export function inboundSummary(row: InboundDocumentRow, titleOf: (docType: number) => string): InboundSummary {
  const { linkedRequestId: requestId, linkedBy: by, sharedItems, operationDate } = row;
  return {
    ...shown({ ...row, operationDate: operationDate === '' ? null : operationDate }),
    title: titleFor(row, titleOf),
    sentence: inboundSentence(row),
    ...(requestId === null || by === null ? {} : { belongsTo: { requestId, by, ...present({ sharedItems }) } }),
  };
}
