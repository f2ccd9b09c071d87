import type { DocumentOutcome } from '#domain';
import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';
import type { Coverage, ListedDocument, OwnDocument } from './compare.js';

const PAGE = 5_000;
/** The read models that are compared, by the names of their checkpoints. */
const POSITIONS_OF = ['document-outcomes', 'inbound-documents'].map((name) => projectionCheckpoint({ name }));
/** Listed documents without a request_id that are held in memory. */
const MOST_NAMELESS = 100_000;

/** Everything that a comparison reads, in one snapshot of the database: `db` is inside a transaction that sees one. */
export interface Pinned {
  asOf: Date;
  /** Log positions up to which the read models stand. */
  positions: Record<string, string>;
  coverage: Coverage[];
  /** Outgoing documents that are not ours, by channel. */
  notOurs: Record<string, number>;
}

export async function readPinned(db: Queryable): Promise<Pinned> {
  const now = await db.query<{ now: Date }>(`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`);
  const positions = await db.query<{ name: string; position: bigint }>(
    `SELECT name, position FROM checkpoint WHERE name = ANY ($1::text[]) ORDER BY name`,
    [POSITIONS_OF],
  );
  const cursors = await db.query<{ account: string; from: Date; to: Date }>(
    `SELECT account, covered_from AS "from", read_at AS "to" FROM list_cursor
     WHERE list = 'outgoing' AND covered_from IS NOT NULL AND read_at IS NOT NULL AND problem IS NULL
       ORDER BY account COLLATE "C"`,
  );
  const foreign = await db.query<{ channel: string; n: bigint }>(
    `SELECT channel, count(*) AS n FROM inbound_document WHERE direction = 'outgoing' AND phase <> 'ours' GROUP ` +
      'BY channel ORDER BY channel',
  );
  return {
    asOf: now.rows[0]?.now as Date,
    positions: Object.fromEntries(positions.rows.map(({ name, position }) => [name, position.toString()])),
    coverage: cursors.rows.map(({ account, from, to }) => ({
      account,
      from: from.toISOString(),
      to: to.toISOString(),
    })),
    notOurs: Object.fromEntries(foreign.rows.map(({ channel, n }) => [channel, Number(n)])),
  };
}

interface OwnRow {
  request_id: string;
  document_id: string | null;
  account: string;
  doc_type: number;
  outcome: DocumentOutcome | null;
  registered_at: Date;
  concluded_at: Date | null;
}

/** Our documents since a moment, and those without an outcome however old, in the order of request_id. */
export async function* ownDocuments(db: Queryable, since: Date): AsyncGenerator<OwnDocument> {
  for (let after = ''; ;) {
    const { rows } = await db.query<OwnRow>(
      `SELECT request_id, document_id, account, doc_type, outcome, registered_at, concluded_at FROM document_outcome
       WHERE request_id > $1 AND (outcome IS NULL OR registered_at >= $2) ORDER BY request_id LIMIT $3`,
      [after, since, PAGE],
    );
    for (const row of rows) yield ownOf(row);
    if (rows.length < PAGE) return;
    after = (rows.at(-1) as OwnRow).request_id;
  }
}

const ownOf = (row: OwnRow): OwnDocument => ({
  requestId: row.request_id,
  documentId: row.document_id,
  account: row.account,
  docType: row.doc_type,
  outcome: row.outcome,
  registeredAt: row.registered_at.toISOString(),
  concludedAt: row.concluded_at?.toISOString() ?? null,
});

interface ListedRow {
  request_id: string;
  document_id: string;
  status: string;
  status_at: Date;
}

const listedOf = (row: ListedRow): ListedDocument => ({
  requestId: row.request_id,
  documentId: row.document_id,
  status: row.status,
  statusAt: row.status_at.toISOString(),
});

/** What the outgoing lists have shown since a moment, in the order of request_id, then document_id. */
export async function* listedDocuments(db: Queryable, since: Date): AsyncGenerator<ListedDocument> {
  let last: Pick<ListedRow, 'request_id' | 'document_id'> = { request_id: '', document_id: '' };
  for (;;) {
    const { rows } = await db.query<ListedRow>(
      `SELECT request_id, document_id, status, status_at FROM registry_document
       WHERE direction = 'outgoing' AND request_id <> '' AND request_id >= $1 AND (request_id, document_id) > ($1, $2)
         AND seen_at >= $3 ORDER BY request_id, document_id LIMIT $4`,
      [last.request_id, last.document_id, since, PAGE],
    );
    for (const row of rows) yield listedOf(row);
    if (rows.length < PAGE) return;
    last = rows.at(-1) as ListedRow;
  }
}

/** Listed documents whose list shows no request_id. Throws when there are more than can be held. */
export async function namelessDocuments(db: Queryable, since: Date): Promise<Map<string, ListedDocument>> {
  const { rows } = await db.query<ListedRow>(
    `SELECT request_id, document_id, status, status_at FROM registry_document WHERE direction = 'outgoing' AND ` +
      `request_id = '' AND seen_at >= $1 LIMIT $2`,
    [since, MOST_NAMELESS + 1],
  );
  if (rows.length > MOST_NAMELESS)
    throw new Error(`the lists show more than ${MOST_NAMELESS} outgoing documents without a request_id`);
  return new Map(rows.map((row) => [row.document_id, listedOf(row)]));
}
