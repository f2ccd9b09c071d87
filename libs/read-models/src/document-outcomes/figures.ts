import type { Queryable } from '#postgres';
import { countOutcomes } from './query.js';

/**
 * How the documents stand, for metrics: what is in flight by phase with the age of the oldest, what is concluded by
 * outcome.
 */
export interface DocumentFigures {
  phases: { phase: string; documents: number; oldestSeconds: number }[];
  outcomes: { accepted: number; partial: number; rejected: number; failed: number };
  /** Documents of which the registry holds more than one. */
  duplicates: number;
}

/**
 * Reads what is in flight and the alarms, never the many that are concluded: their number is kept. A member of a group
 * that waits, or is held, stands as its group does: in its own stream it is ready, and would count as one that a worker
 * is to send. So does one of a group of which nobody knows whether it has begun: in its own stream it is sent.
 */
export async function documentFigures(db: Queryable): Promise<DocumentFigures> {
  const phases = await db.query<{ phase: string; documents: number; seconds: number }>({
    name: 'document-phases',
    text: `SELECT CASE WHEN g.phase IN ('waiting', 'held', 'unconfirmed') THEN g.phase ELSE d.phase END AS phase,
        count(*)::int AS documents,
        greatest(0, extract(epoch FROM clock_timestamp() - min(d.registered_at)))::float8 AS seconds
      FROM document_outcome d LEFT JOIN document_group g ON g.group_id = d.group_id AND d.phase IN ('ready', 'sent')
      WHERE d.outcome IS NULL GROUP BY 1`,
  });
  const alarms = await db.query<{ duplicates: number }>({
    name: 'document-duplicates',
    text: 'SELECT count(*)::int AS duplicates FROM document_outcome WHERE duplicate',
  });
  const { accepted, partial, rejected, failed } = await countOutcomes(db);
  return {
    phases: phases.rows.map(({ phase, documents, seconds }) => ({ phase, documents, oldestSeconds: seconds })),
    outcomes: { accepted, partial, rejected, failed },
    duplicates: alarms.rows[0]?.duplicates ?? 0,
  };
}
