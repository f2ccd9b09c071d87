import { documentStream, type DutyFacts } from '#domain';
import type { Queryable } from '#postgres';

/** What may start the clock of a document of ours. */
export type ClockStart = Pick<DutyFacts, 'knownAt' | 'operationAt' | 'claims'>;

/**
 * SQL: `place`, each of these documents of ours with those that it was sent in place of, and `clock`, the clock of
 * each, by its request_id. Of a document that was sent in place of others it starts by the earliest moment of all of
 * them: sending again, with whatever date, gains no time.
 */
export const withClocks = (which: string): string => `WITH RECURSIVE place AS (
    SELECT id AS request_id, id, known_at, operation_at FROM document_timing WHERE ${which}
    UNION SELECT p.request_id, t.id, t.known_at, t.operation_at
    FROM place p JOIN document_timing t ON t.replaced_by = p.id
  ), clock AS (
    SELECT request_id, min(known_at) AS known_at, min(operation_at) AS operation_at,
      coalesce(array_agg(operation_at ORDER BY operation_at) FILTER (WHERE operation_at IS NOT NULL), '{}') AS claims
    FROM place GROUP BY request_id
  )`;

/** Of each of these documents of ours what may start its clock, by request_id. */
export async function clocksOf(db: Queryable, requestIds: readonly string[]): Promise<Map<string, ClockStart>> {
  if (requestIds.length === 0) return new Map();
  const { rows } = await db.query<ClockStart & { requestId: string }>({
    name: 'timeliness-clocks',
    text: `${withClocks('stream = ANY ($1::text[])')}
      SELECT request_id AS "requestId", known_at AS "knownAt", operation_at AS "operationAt", claims FROM clock`,
    values: [requestIds.map(documentStream)],
  });
  return new Map(rows.map(({ requestId, ...start }) => [requestId, start]));
}
