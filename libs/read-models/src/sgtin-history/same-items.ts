import type { Queryable } from '#postgres';

/** Items that are compared: the first of a long document tell it from all others. */
const MOST_COMPARED = 1_000;

/** What a document of ours must be to belong to one of another participant. */
export interface SharedItemsQuery {
  items: string[];
  docTypes: number[];
  subjectId: string;
  counterpartyId: string;
}

const SHARING = `
  SELECT d.request_id, count(DISTINCT m.item)::int AS shared
  FROM item_movement m JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = ANY ($1::text[]) AND d.doc_type = ANY ($2::int[]) AND d.subject_id = $3 AND d.counterparty_id = $4
    AND d.document_id IS NULL AND d.known_to IS NULL AND d.outcome IN ('accepted', 'partial')
  GROUP BY d.request_id ORDER BY shared DESC, max(d.ordered_at) DESC, d.request_id LIMIT 1`;

/**
 * The document of ours that names most of these items, of these types, between these places; of several the one that the registry took last. As far as
 * the log has been read: one that is under way is not found yet.
 */
export async function ownDocumentSharing(db: Queryable, { items, docTypes, subjectId, counterpartyId }: SharedItemsQuery): Promise<{ requestId: string; sharedItems: number } | undefined> {
  const { rows } = await db.query<{ request_id: string; shared: number }>(SHARING, [items.slice(0, MOST_COMPARED), docTypes, subjectId, counterpartyId]);
  return rows[0] && { requestId: rows[0].request_id, sharedItems: rows[0].shared };
}
