import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';

/** Items that are compared: the first of a long document tell it from all others. */
const MOST_COMPARED = 1_000;

/** What a document of ours must be to belong to one of another participant. */
export interface SharedItemsQuery {
  items: string[];
  docTypes: number[];
  subjectId: string;
  counterpartyId: string;
  /** When the other one came to the registry, as far as that is known. */
  toldAt?: string | undefined;
  /** Log position of what was recorded of it: what registers later is not meant. */
  recordedAt: bigint;
}

interface SharedItems {
  upTo: bigint;
  isOpen: boolean;
  isBehind: boolean;
  found: { requestId: string; sharedItems: number } | undefined;
}

interface Row {
  up_to: bigint;
  is_open: boolean;
  is_behind: boolean;
  request_id: string | null;
  shared: number;
}

const SHARING = `WITH best AS (
  SELECT d.request_id, count(DISTINCT m.item)::int AS shared
  FROM item_movement m JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = ANY ($1::text[]) AND d.doc_type = ANY ($2::int[]) AND d.subject_id = $3 AND d.counterparty_id = $4
    AND d.document_id IS NULL AND d.known_to IS NULL AND d.outcome IN ('accepted', 'partial')
  GROUP BY d.request_id ORDER BY shared DESC, max(d.ordered_at) <= $6 DESC,
    max(d.ordered_at) DESC, d.request_id LIMIT 1
), read AS (
  SELECT coalesce((SELECT position FROM checkpoint WHERE name = $5), 0) AS up_to,
    coalesce((SELECT position FROM checkpoint WHERE name = $8), 0) AS ends_up_to
) SELECT read.up_to, read.up_to < read.ends_up_to OR read.ends_up_to < $7 AS is_behind, best.request_id, best.shared,
    EXISTS (SELECT FROM document_outcome o
      WHERE o.outcome IS NULL AND o.doc_type = ANY ($2::int[]) AND o.subject_id = $3 AND o.counterparty_id = $4
        AND o.registered_position < $7
    ) AS is_open
  FROM read LEFT JOIN best ON true`;

/**
 * The document of ours that names most of these items, of these types, between these places; of several the one that
 * the registry took last, and rather before the other one came. As far as the log has been read, which is told beside
 * it, of the same moment: one that is under way is not found yet. `isOpen`: such a one there is, which registered
 * before. `isBehind`: ends of documents are known, so that they are open no more, of whose packs nothing is known yet;
 * or not all are known that registered before, so that one may be open.
 */
export async function ownDocumentSharing(
  db: Queryable,
  { items, docTypes, subjectId, counterpartyId, toldAt, recordedAt }: SharedItemsQuery,
): Promise<SharedItems> {
  const values = [
    items.slice(0, MOST_COMPARED),
    docTypes,
    subjectId,
    counterpartyId,
    projectionCheckpoint({ name: 'sgtin-history' }),
    toldAt ?? 'infinity',
    recordedAt,
    projectionCheckpoint({ name: 'document-outcomes' }),
  ];
  const { rows } = await db.query<Row>(SHARING, values);
  const [row] = rows;
  return {
    upTo: row?.up_to ?? 0n,
    isOpen: row?.is_open === true,
    isBehind: row?.is_behind === true,
    found:
      row === undefined || row.request_id === null ? undefined : { requestId: row.request_id, sharedItems: row.shared },
  };
}
