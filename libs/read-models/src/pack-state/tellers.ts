import type { TypeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import type { TellingDocument } from '../port.js';
import { MOVEMENT_DOCUMENT, type MovementDocument } from '../sgtin-history/row.js';
import { tellingDocument } from '../sgtin-history/shape.js';
import { fieldsOf } from '../shapes.js';

const OF_DOCUMENT = [
  ...(['knownFrom', 'requestId', 'channel', 'docType', 'subjectId', 'counterpartyId', 'operationDate'] as const),
  ...(['acceptedAt', 'documentSha256', 'receiptSha256'] as const),
] satisfies (keyof MovementDocument)[];

const DOCUMENTS = `SELECT ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })},
    coalesce(d.document_id, s.document_id) AS "documentId"
  FROM movement_document d LEFT JOIN sent_document s ON s.request_id = d.request_id AND d.document_id IS NULL
  WHERE d.known_from = ANY ($1::bigint[])`;

const shown = fieldsOf(tellingDocument);

/** Finds the document that told something, by its log position. */
export async function tellers(
  db: Queryable,
  positions: readonly (bigint | null)[],
  { titleOf }: Pick<TypeKnowledge, 'titleOf'>,
): Promise<(position: bigint | null | undefined) => TellingDocument | undefined> {
  const asked = [...new Set(positions.filter((one) => one !== null))];
  const { rows } = await db.query<MovementDocument & { documentId: string | null }>({
    ...{ name: 'pack-tellers', text: DOCUMENTS, values: [asked] },
  });
  const byPosition = new Map(
    rows.map((row) => {
      const { knownFrom, docType, requestId } = row;
      const told = { ...shown({ ...row, requestId: requestId === '' ? null : requestId }), title: titleOf(docType) };
      return [knownFrom, { ...told, knownAt: String(knownFrom) } as TellingDocument] as const;
    }),
  );
  return (position) => (position === null || position === undefined ? undefined : byPosition.get(position));
}
