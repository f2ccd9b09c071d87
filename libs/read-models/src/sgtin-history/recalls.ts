import type { Transaction } from '#postgres';
import type { Movements } from './movements.js';

const NO_LONGER = `SELECT recalls FROM movement_document WHERE known_from = ANY ($1::bigint[]) AND recalls IS NOT NULL`;
/** By request_id, or by the id under which the registry took it. */
const OPERATIONS = `SELECT known_from FROM movement_document WHERE request_id <> '' AND request_id = ANY ($1::text[])
  UNION SELECT known_from FROM movement_document WHERE document_id IS NOT NULL AND document_id = ANY ($1::text[])
  UNION SELECT d.known_from FROM sent_document s JOIN movement_document d ON d.request_id = s.request_id
    WHERE s.document_id = ANY ($1::text[])`;

/** A movement that a recall may name. `at` is its place in some order. */
export interface RecallableMovement<At> {
  requestId: string;
  /** The registry's id. */
  documentId: string | null;
  /** It went out in our name. */
  isOurs: boolean;
  at: At;
}

/**
 * Movements by the ids under which a recall may name them: a document by its request_id, or by the registry's id. A
 * notification has the request_id of the document of which it tells, and goes with that under both.
 */
export function namedOperations<At>(movements: readonly RecallableMovement<At>[]): Map<string, Set<At>> {
  const sentAs = new Map(
    movements.flatMap(({ requestId, documentId, isOurs }) => (isOurs ? [[requestId, documentId] as const] : [])),
  );
  const named = new Map<string, Set<At>>();
  for (const { requestId, documentId, at } of movements)
    for (const id of [requestId, documentId, requestId === '' ? '' : sentAs.get(requestId)])
      if (typeof id === 'string' && id !== '') named.set(id, (named.get(id) ?? new Set()).add(at));
  return named;
}

/** Log positions of what the recalls of a page name, and those that count no longer since it. */
export async function recalledBy(
  tx: Transaction,
  { movements, closed }: { movements: readonly Movements[]; closed: readonly bigint[] },
): Promise<bigint[]> {
  const named = movements.flatMap(({ document }) => document.recalls ?? []);
  if (closed.length > 0)
    named.push(...(await tx.query<{ recalls: string }>(NO_LONGER, [closed])).rows.map(({ recalls }) => recalls));
  if (named.length === 0) return [];
  const { rows } = await tx.query<{ known_from: bigint }>(OPERATIONS, [named]);
  return rows.map((row) => row.known_from);
}
