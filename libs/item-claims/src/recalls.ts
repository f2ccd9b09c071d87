import { requestIdOfStream } from '#domain';
import { typeKnowledge } from '#documents';
import type { Sha256 } from '#kernel';
import type { Transaction } from '#postgres';
import { IN_OUR_NAME } from '#read-models';
import type { NamedItems } from './named-items.js';
import { readOne, type ClaimEvent, type PageOptions } from './read-page.js';

/**
 * Keeps what a recall of a later day may name: documents of the types that can be recalled, by both their ids. A recall
 * comes after its operation has concluded, when the claims of that are gone.
 */
export async function keepOperations(tx: Transaction, events: ClaimEvent[]): Promise<void> {
  const registered = events.flatMap(({ type, data }) =>
    type === 'DocumentRegistered' && typeKnowledge.isRecallable(data.docType) ? [data] : [],
  );
  if (registered.length > 0)
    await tx.query({
      name: 'item-operation-insert',
      text: `INSERT INTO item_operation SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`,
      values: [registered.map((one) => one.requestId), registered.map((one) => one.documentSha256)],
    });
  const sent = events.flatMap(({ type, data, stream }) =>
    type === 'DocumentSent' ? [{ requestId: requestIdOfStream(stream), documentId: data.documentId }] : [],
  );
  if (sent.length > 0)
    await tx.query({
      name: 'item-operation-sent',
      text: `UPDATE item_operation o SET document_id = s.document_id
        FROM unnest($1::text[], $2::text[]) AS s(request_id, document_id) WHERE o.request_id = s.request_id`,
      values: [sent.map((one) => one.requestId), sent.map((one) => one.documentId)],
    });
}

/** Whoever names an id may write it in small letters or in capitals. */
const inAnyCase = (id = ''): string[] => [id, id.toLowerCase(), id.toUpperCase()];

/**
 * What a recall concerns: the items and places of its operation. One of before `item_operation` was there may stand in
 * the read models alone, which were behind when that was filled; and only those have the id of a further copy. One that
 * is not known at all has none.
 */
export async function withRecalled(named: NamedItems, on: PageOptions): Promise<NamedItems> {
  const { rows } = await on.tx.query<{ sha256: Sha256 }>({
    name: 'item-operation-find',
    text: `SELECT document_sha256 AS sha256 FROM item_operation
        WHERE request_id = ANY ($1::text[]) OR document_id = ANY ($1::text[])
      UNION ALL SELECT document_sha256 FROM document_outcome WHERE request_id = ANY (ARRAY(
        SELECT unnest($1::text[]) UNION ALL SELECT request_id FROM sent_document WHERE document_id = ANY ($1::text[])
        UNION ALL SELECT request_id FROM movement_document
          WHERE document_id = ANY ($1::text[]) AND request_id <> '' AND ${IN_OUR_NAME}
      )) LIMIT 1`,
    values: [inAnyCase(named.recalls)],
  });
  const [found] = rows;
  const recalled =
    found === undefined
      ? undefined
      : await readOne(found.sha256, on, (xml) => on.documents.readDocument(xml, found.sha256));
  if (recalled === undefined) return named;
  return {
    ...named,
    items: recalled.items.map(({ item }) => ({ item, parent: undefined })),
    places: [...new Set([...named.places, ...recalled.places])],
  };
}
