import { coalesce, type Clock } from '#kernel';
import type { Pool, Queryable, Transaction } from '#postgres';
import { registryListsSchema } from '#reconciliation';
import type { DocumentStatus } from '#registry-client';
import type { KeptNotUnderstood } from './not-understood.js';

/** The tables are the reconciler's to read too, so they lie in a library. */
export const inboundSchema = registryListsSchema;

export type ListName = 'incoming' | 'outgoing';

/** A document as a list showed it; a row of `registry_document`. */
export interface ListedDocument {
  documentId: string;
  /** Empty where the list shows none. */
  requestId: string;
  direction: ListName;
  account: string;
  docType: number | undefined;
  status: DocumentStatus;
  receivedAt: string | undefined;
  processedAt: string | undefined;
  /** When the answer was asked for that shows it, by the database's clock; absent: just now. */
  answeredAt?: Date;
}

/** Another account may have written a newer answer first: what an older one says is not written over it. */
const WRITE = `INSERT INTO registry_document (document_id, request_id, direction, account, doc_type, status,
    received_at, processed_at, status_at)
  SELECT document_id, request_id, direction, account, doc_type, status, received_at, processed_at,
    coalesce(answered_at, statement_timestamp())
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::timestamptz[],
    $8::timestamptz[], $9::timestamptz[]) AS one (document_id, request_id, direction, account, doc_type, status,
    received_at, processed_at, answered_at)
  ON CONFLICT (document_id) DO UPDATE SET status = excluded.status, processed_at = excluded.processed_at,
    status_at = excluded.status_at
  WHERE registry_document.status IS DISTINCT FROM excluded.status
    AND registry_document.status_at <= excluded.status_at`;

/**
 * After a refusal `read_at` is when that came, which the next reading forgets: the end of the list is still to come.
 * After any other problem it is when the list was read to its end before. The words of a refusal begin with its kind
 * (`outcomeWords`).
 */
const MOVE = `INSERT INTO list_cursor AS c (account, list, since, read_at, problem, covered_from, looked_back_at,
    unread_since, not_understood_from, not_understood, is_read_again)
  VALUES ($1, $2, $3, CASE WHEN $4 THEN clock_timestamp() END, $5, $6, $7,
    CASE WHEN $5 <> '' THEN clock_timestamp() END, $8, $9, $10)
  ON CONFLICT (account, list) DO UPDATE SET since = excluded.since,
    read_at = coalesce(excluded.read_at, CASE WHEN c.problem LIKE 'refused: %' THEN NULL ELSE c.read_at END),
    problem = excluded.problem,
    covered_from = coalesce(c.covered_from, excluded.covered_from),
    looked_back_at = coalesce(excluded.looked_back_at, c.looked_back_at),
    unread_since = CASE WHEN excluded.problem IS NOT NULL THEN coalesce(c.unread_since, clock_timestamp())
      WHEN NOT $4 THEN c.unread_since END,
    not_understood_from = excluded.not_understood_from, not_understood = excluded.not_understood,
    is_read_again = excluded.is_read_again`;

const NOTE_UNREAD = `INSERT INTO list_cursor AS c (account, list, since, problem, unread_since)
  VALUES ($1, $2, $3, $4, clock_timestamp())
  ON CONFLICT (account, list) DO UPDATE SET problem = excluded.problem,
    read_at = CASE WHEN c.problem LIKE 'refused: %' THEN NULL ELSE c.read_at END,
    unread_since = coalesce(c.unread_since, excluded.unread_since)`;

const OUTGOING_UNDER =
  'SELECT request_id, document_id FROM registry_document WHERE request_id = ANY ($1::text[]) AND direction = ' +
  `'outgoing' AND request_id <> '' ORDER BY document_id`;

const LISTED_UNDER =
  'SELECT document_id, account, doc_type, status, received_at, processed_at FROM registry_document WHERE ' +
  `request_id = $1 AND direction = 'outgoing' ORDER BY document_id`;

/** A list shows a document some time after its send, and the history of packs knows no copies of it. */
const REQUEST_ID_OF = `SELECT request_id FROM sent_document WHERE document_id = ANY ($1::text[]) UNION ALL
  SELECT request_id FROM registry_document WHERE document_id = ANY ($1::text[]) AND request_id <> '' LIMIT 1`;

interface ListedRow {
  document_id: string;
  account: string;
  doc_type: number | null;
  status: DocumentStatus;
  received_at: Date | null;
  processed_at: Date | null;
}

/** Sends that ask at the same time share one statement. */
const MOST_ASKED_TOGETHER = 500;
const MOST_WAITING = 100_000;

/** What the document lists have shown so far (tables `registry_document` and `list_cursor`). */
export class RegistryDocuments {
  /** Accounts whose outgoing list was read before this process began, and not since. */
  private readonly unread = new Set<string>();
  private openedAt: Date | undefined;
  private firstAskedAtMs: number | undefined;
  private readonly askTogether: (requestId: string) => Promise<string | undefined>;

  constructor(private readonly pool: Pool) {
    const ask = async (requestIds: string[]): Promise<(string | undefined)[]> => {
      const held = await this.outgoingUnder(requestIds);
      return requestIds.map((requestId) => held.get(requestId)?.[0]);
    };
    this.askTogether = coalesce(ask, { maxBatch: MOST_ASKED_TOGETHER, maxWaiting: MOST_WAITING });
  }

  /** When this process first asked, by the monotonic clock. */
  firstAskedMs(clock: Pick<Clock, 'monotonicMs'>): number {
    return (this.firstAskedAtMs ??= clock.monotonicMs());
  }

  /**
   * Notes where this process begins: what was sent before, by whatever state of this database, is known once the lists
   * were read again.
   * @param afterRestore accounts of a database that was restored lately: they may have sent before, though it knows of
   *   no list of theirs.
   */
  async open(afterRestore: string[] = []): Promise<void> {
    const { rows } = await this.pool.query<{ now: Date; account: string | null }>(
      'SELECT clock_timestamp() AS now, c.account FROM (VALUES (1)) AS one LEFT JOIN list_cursor c ON c.list = ' +
        `'outgoing'`,
    );
    this.openedAt = rows[0]?.now;
    for (const account of [...rows.map((row) => row.account), ...afterRestore])
      if (account !== null) this.unread.add(account);
  }

  /**
   * How the account's outgoing list stands since this process began; `not_given`: the registry, or a server before it,
   * refused it. A database that is new here has nothing to catch up with; one that was away, or was restored, may have
   * sent what it does not know of.
   */
  async outgoingSince(account: string): Promise<'read' | 'not_given' | 'unread'> {
    if (!this.unread.has(account)) return 'read';
    const { rows } = await this.pool.query<{ given: boolean }>(
      `SELECT problem IS NULL AS given FROM list_cursor WHERE account = $1 AND list = 'outgoing' AND read_at >= $2`,
      [account, this.openedAt],
    );
    if (rows[0]?.given !== true) return rows[0] === undefined ? 'unread' : 'not_given';
    this.unread.delete(account);
    return 'read';
  }

  /** The registry's id of the outgoing document with this request_id, if a list has shown one. */
  outgoingIdOf(requestId: string): Promise<string | undefined> {
    return this.askTogether(requestId);
  }

  /** All outgoing documents under each of these request_ids. */
  async outgoingUnder(requestIds: string[]): Promise<Map<string, string[]>> {
    const { rows } = await this.pool.query<{ request_id: string; document_id: string }>({
      name: 'registry-document-under',
      text: OUTGOING_UNDER,
      values: [requestIds],
    });
    const found = new Map<string, string[]>();
    for (const row of rows) found.set(row.request_id, [...(found.get(row.request_id) ?? []), row.document_id]);
    return found;
  }

  /** The rows of all outgoing documents under this request_id. */
  async listedUnder(requestId: string): Promise<ListedDocument[]> {
    const { rows } = await this.pool.query<ListedRow>(LISTED_UNDER, [requestId]);
    return rows.map((row) => ({
      documentId: row.document_id,
      requestId,
      direction: 'outgoing',
      account: row.account,
      docType: row.doc_type ?? undefined,
      status: row.status,
      receivedAt: row.received_at?.toISOString(),
      processedAt: row.processed_at?.toISOString(),
    }));
  }

  /**
   * The request_id of a document that a list has shown, or that went out in our name. Whoever names it may write its
   * id in small letters or in capitals.
   */
  async requestIdOf(documentId: string): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ request_id: string }>(REQUEST_ID_OF, [
      [documentId, documentId.toLowerCase(), documentId.toUpperCase()],
    ]);
    return rows[0]?.request_id;
  }

  /** Those of these ids that no list has shown before. */
  async newAmong(documentIds: string[]): Promise<Set<string>> {
    const { rows } = await this.pool.query<{ document_id: string }>(
      'SELECT document_id FROM registry_document WHERE document_id = ANY ($1::text[])',
      [documentIds],
    );
    const known = new Set(rows.map((row) => row.document_id));
    return new Set(documentIds.filter((documentId) => !known.has(documentId)));
  }

  /** How far a list was read; undefined where it never was. */
  async cursor(account: string, list: ListName): Promise<KeptCursor | undefined> {
    const { rows } = await this.pool.query<CursorRow>(
      'SELECT since, looked_back_at, not_understood_from, not_understood, is_read_again FROM list_cursor ' +
        'WHERE account = $1 AND list = $2',
      [account, list],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    const { since, looked_back_at: lookedBackAt, not_understood_from: from } = row;
    const words = row.not_understood ?? '';
    const isReadAgain = row.is_read_again === true;
    return { since, lookedBackAt, ...(from === null ? {} : { notUnderstood: { from, words, isReadAgain } }) };
  }
}

interface CursorRow {
  since: Date;
  looked_back_at: Date | null;
  not_understood_from: Date | null;
  not_understood: string | null;
  is_read_again: boolean | null;
}

/** Where the next reading of a list begins, when it was last read anew, and what it showed that is not understood. */
interface KeptCursor {
  since: Date;
  lookedBackAt: Date | null;
  notUnderstood?: KeptNotUnderstood;
}

/**
 * Keeps what a list showed. In order of ids, so that two accounts that are shown the same do not wait for each other in
 * a ring.
 */
export async function writeListed(tx: Transaction, documents: ListedDocument[]): Promise<void> {
  if (documents.length === 0) return;
  const rows = [...documents].sort((a, b) => (a.documentId < b.documentId ? -1 : 1));
  const values = [
    rows.map((one) => one.documentId),
    rows.map((one) => one.requestId),
    rows.map((one) => one.direction),
    rows.map((one) => one.account),
    rows.map((one) => one.docType ?? null),
    rows.map((one) => one.status),
    rows.map((one) => one.receivedAt ?? null),
    rows.map((one) => one.processedAt ?? null),
    rows.map((one) => one.answeredAt ?? null),
  ];
  await tx.query({ name: 'registry-document-write', text: WRITE, values });
}

/** Sets where the next reading begins. `isAtEnd`: the list was read to its end, or will not be given at all. */
export async function moveCursor(
  db: Queryable,
  at: {
    account: string;
    list: ListName;
    /** Where the reading began. */ from?: string;
    since: string;
    isAtEnd: boolean;
    problem?: string;
    /** When a reading began that reaches further back than the overlap. */ lookedBackAt?: Date;
    /** Entries that no reading has shown to be gone. */ notUnderstood?: KeptNotUnderstood;
  },
): Promise<void> {
  await db.query(MOVE, [
    at.account,
    at.list,
    at.since,
    at.isAtEnd,
    at.problem?.slice(0, LONGEST_PROBLEM) ?? null,
    at.from ?? null,
    at.lookedBackAt ?? null,
    at.notUnderstood?.from ?? null,
    at.notUnderstood?.words.slice(0, LONGEST_PROBLEM) ?? null,
    at.notUnderstood?.isReadAgain ?? null,
  ]);
}

/** Notes that a reading failed, whatever became of what it was to write. `since`: where a list begins that is new. */
export async function noteUnread(
  db: Queryable,
  { account, list, since, problem }: { account: string; list: ListName; since: Date; problem: string },
): Promise<void> {
  await db.query(NOTE_UNREAD, [account, list, since, problem.slice(0, LONGEST_PROBLEM)]);
}

const LONGEST_PROBLEM = 1_000;

/**
 * The lists are read anew from the start of a process on, whenever they were due: what was sent elsewhere meanwhile is
 * to be known first.
 */
export async function readListsNow(db: Queryable, keys: string[]): Promise<void> {
  await db.query(
    'UPDATE task SET due_at = least(due_at, statement_timestamp()) WHERE key = ANY ($1::text[]) AND failed_at IS NULL',
    [keys],
  );
}
