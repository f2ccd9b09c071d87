import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import type { DataSource, SelectQueryBuilder } from 'typeorm';
import type { DocumentListQuery, DocumentSummary, OutcomeCounts, Page, WaitedFor } from '../port.js';
import { readCursor, writeCursor } from './cursor.js';
import { holdsOf } from './holds.js';
import { DocumentOutcomeEntity, type DocumentOutcomeRow } from './row.js';
import { wordsFor } from './sentences.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/**
 * One page of documents, newest registration first. The cursor is the log position of the page's last registration, so
 * documents that arrive meanwhile neither shift nor repeat a line. A page reads its own rows through the index of its
 * filter, which ends in the list's order; where several filters are set, through the one of the rarest. Throws
 * PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listDocuments(
  dataSource: DataSource,
  query: DocumentListQuery,
  received: Received,
): Promise<Page<DocumentSummary>> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new PedigreeError('invalid_parameter', `limit must be a whole number from 1 to ${MAX_LIMIT}`, {
      field: 'limit',
    });
  }
  const rows = await selectDocuments(dataSource, query, limit + 1).getMany();
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const waitingFor = await waitedFor(items, received);
  return {
    items: items.map((row) => summaryOf(row, { waitingFor: waitingFor(row) })),
    ...(rows.length > limit && last !== undefined ? { nextCursor: writeCursor(last.registeredPosition) } : {}),
  };
}

/** The statement of a page, for the list and for the test of its plan. */
export function selectDocuments(
  dataSource: DataSource,
  query: DocumentListQuery,
  limit: number,
): SelectQueryBuilder<DocumentOutcomeRow> {
  const select = dataSource.getRepository(DocumentOutcomeEntity).createQueryBuilder('d').limit(limit);
  const isOpen = query.phase !== undefined && query.phase !== 'concluded';
  // The small table leads where it can: place and time are then looked for in its index, and each row of the large one
  // is fetched by its key.
  if (isOpen)
    select.innerJoin('DocumentOpen', 'o', 'o.registeredPosition = d.registeredPosition AND o.phase = :phase', {
      phase: query.phase,
    });
  filter(select, query);
  inOrder(select, query, isOpen ? 'o' : 'd');
  return select;
}

function filter(select: SelectQueryBuilder<DocumentOutcomeRow>, query: DocumentListQuery): void {
  if (query.phase === 'concluded')
    select.andWhere('d.outcome IS NOT NULL AND d.phase = :phase', { phase: query.phase });
  if (query.outcome !== undefined) select.andWhere(`d.outcome = :outcome`, { outcome: query.outcome });
  if (query.cause !== undefined) select.andWhere('d.cause = :cause', { cause: query.cause });
  if (query.account !== undefined) select.andWhere('d.account = :account', { account: query.account });
  if (query.docType !== undefined) select.andWhere('d.docType = :docType', { docType: query.docType });
  if (query.requestId !== undefined) select.andWhere('d.requestId = :requestId', { requestId: query.requestId });
  if (query.duplicate !== undefined) select.andWhere(query.duplicate ? 'd.duplicate' : 'NOT d.duplicate');
  if (query.reference !== undefined) select.andWhere('d.reference = :reference', { reference: query.reference });
}

/**
 * Where a cursor stands in the list: at its own row, or, while a rebuild has not come so far, at the newest one before
 * it.
 */
const CURSOR_PLACE =
  '(SELECT c.registered_at FROM document_outcome c WHERE c.registered_position <= :position ORDER BY ' +
  'c.registered_position DESC LIMIT 1), :position';

/** Order, time and place, all by the two columns in which every index of the list ends. */
function inOrder(select: SelectQueryBuilder<DocumentOutcomeRow>, query: DocumentListQuery, of: 'd' | 'o'): void {
  select.orderBy(`${of}.registeredAt`, 'DESC').addOrderBy(`${of}.registeredPosition`, 'DESC');
  if (query.registeredFrom !== undefined)
    select.andWhere(`${of}.registeredAt >= :from`, { from: query.registeredFrom });
  if (query.registeredTo !== undefined) select.andWhere(`${of}.registeredAt < :to`, { to: query.registeredTo });
  if (query.cursor !== undefined)
    select.andWhere(`(${of}.registeredAt, ${of}.registeredPosition) < (${CURSOR_PLACE})`, {
      position: readCursor(query.cursor),
    });
}

export async function countOutcomes(db: Queryable): Promise<OutcomeCounts> {
  const { rows } = await db.query<Record<'documents' | 'accepted' | 'partial' | 'rejected' | 'failed', bigint>>(
    'SELECT documents, accepted, partial, rejected, failed FROM document_outcome_count',
  );
  const row = rows[0];
  if (row === undefined) return { documents: 0, accepted: 0, partial: 0, rejected: 0, failed: 0, unfinished: 0 };
  const { documents, accepted, partial, rejected, failed } = row;
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
    row.waitingFor.map(({ commandId, requestId }) => ({ commandId, requestId, known: known.has(requestId) }));
}

/** Where nobody tells of commands that are still to be run: what has a row here was received. */
export async function registered(db: Queryable, requestIds: string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ request_id: string }>(
    'SELECT request_id FROM document_outcome WHERE request_id = ANY($1::text[])',
    [requestIds],
  );
  return new Set(rows.map((row) => row.request_id));
}

/** The row as the API shows it; with the receipt's errors, where they were read, the sentence names the reasons. */
export function summaryOf(
  row: DocumentOutcomeRow,
  beside: { waitingFor: WaitedFor[]; errors?: { text: string }[] },
): DocumentSummary {
  const optional = {
    reference: row.reference,
    docNum: row.docNum,
    counterpartyId: row.counterpartyId,
    documentId: row.documentId,
    status: row.status,
    outcome: row.outcome,
    cause: row.cause,
    receiptSha256: row.receiptSha256,
    acceptedAt: row.acceptedAt?.toISOString(),
    concludedAt: row.concludedAt?.toISOString(),
    groupId: row.groupId,
    groupIndex: row.groupIndex,
    groupSize: row.groupSize,
    supersededBy: row.supersededBy,
    resendOf: row.resendOf,
    resentAs: row.resentAs,
  };
  return {
    requestId: row.requestId,
    commandId: row.commandId,
    account: row.account,
    docType: row.docType,
    subjectId: row.subjectId,
    operationDate: row.operationDate,
    itemCount: row.itemCount,
    phase: row.phase,
    waitingFor: beside.waitingFor,
    holds: holdsOf(row),
    attempts: row.attempts,
    errorCount: row.errorCount,
    documentSha256: row.documentSha256,
    duplicate: row.duplicate,
    registeredAt: row.registeredAt.toISOString(),
    position: String(row.position),
    ...withoutAbsent(optional),
    ...wordsFor({ ...row, ...beside }),
  };
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> };

function withoutAbsent<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as Present<T>;
}

/**
 * Which of these request_ids are documents of ours, each with the registry's id as far as it is known. As far as the
 * log has been read.
 */
export async function documentIdsOf(db: Queryable, requestIds: string[]): Promise<Map<string, string | undefined>> {
  const text = 'SELECT request_id, document_id FROM document_outcome WHERE request_id = ANY($1::text[])';
  const { rows } = await db.query<{ request_id: string; document_id: string | null }>({
    name: 'document-ids-of',
    text,
    values: [requestIds],
  });
  return new Map(rows.map((row) => [row.request_id, row.document_id ?? undefined]));
}
