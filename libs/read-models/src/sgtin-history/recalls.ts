import type { Transaction } from '#postgres';
import type { Movements } from './movements.js';
import { IN_OUR_NAME } from './row.js';

const NO_LONGER = `SELECT recalls FROM movement_document WHERE known_from = ANY ($1::bigint[]) AND recalls IS NOT NULL`;
/** By request_id, or by an id under which the registry took it or a further copy of it. */
const OPERATIONS = `SELECT known_from FROM movement_document WHERE request_id <> '' AND request_id = ANY ($1::text[])
  UNION SELECT known_from FROM movement_document WHERE document_id IS NOT NULL AND document_id = ANY ($1::text[])
  UNION SELECT d.known_from FROM (
      SELECT request_id FROM sent_document WHERE document_id = ANY ($1::text[])
      UNION SELECT request_id FROM movement_document
        WHERE document_id = ANY ($1::text[]) AND request_id <> '' AND ${IN_OUR_NAME}
    ) s JOIN movement_document d ON d.request_id = s.request_id`;

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
 * notification has the request_id of the document of which it tells, and goes with that under both; where the registry
 * took several copies of that, under the id of each.
 */
export function namedOperations<At>(movements: readonly RecallableMovement<At>[]): Map<string, Set<At>> {
  const sentAs = new Map<string, Set<string>>();
  for (const { requestId, documentId, isOurs } of movements)
    if (isOurs && documentId !== null) addTo(sentAs, requestId, documentId);
  const named = new Map<string, Set<At>>();
  for (const { requestId, documentId, isOurs, at } of movements) {
    const toldOf = isOurs || requestId === '' ? [] : (sentAs.get(requestId) ?? []);
    for (const id of [requestId, documentId ?? '', ...toldOf]) if (id !== '') addTo(named, id, at);
  }
  return named;
}

function addTo<Value>(sets: Map<string, Set<Value>>, key: string, value: Value): void {
  sets.set(key, (sets.get(key) ?? new Set<Value>()).add(value));
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
