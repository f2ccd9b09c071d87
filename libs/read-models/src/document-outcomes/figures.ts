import type { EventStore } from '#event-store';
import type { Queryable } from '#postgres';
import { countOutcomes } from './query.js';

/**
 * How the documents stand, for metrics: what is in flight by phase with the age of the oldest, what is concluded by
 * outcome. A document ages from the moment at which the registry took it: it may have waited for days before that. One
 * that was not sent ages from its registration.
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
        greatest(0, extract(epoch FROM clock_timestamp() - min(coalesce(t.sent_at, d.registered_at))))::float8
          AS seconds
      FROM document_outcome d LEFT JOIN document_group g ON g.group_id = d.group_id AND d.phase IN ('ready', 'sent')
      LEFT JOIN document_timing t ON d.phase IN ('sent', 'received') AND t.stream = 'document-' || d.request_id
        AND t.kind = 'own' AND t.outcome IS NULL
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

/**
 * When the last thing was learnt of a send, or of a group's start, of unknown outcome: of the one of which nothing was
 * learnt for longest. Undefined where there is none.
 */
export async function unconfirmedSince(db: Queryable, store: Pick<EventStore, 'eventAt'>): Promise<Date | undefined> {
  const { rows } = await db.query<{ position: bigint }>({
    name: 'document-unconfirmed',
    text: `SELECT coalesce(g.position, d.position) AS position FROM document_outcome d
        LEFT JOIN document_group g ON g.group_id = d.group_id AND d.phase = 'sent' AND g.phase = 'unconfirmed'
      WHERE d.outcome IS NULL AND (d.phase = 'unconfirmed' OR g.group_id IS NOT NULL)
      ORDER BY 1 LIMIT 1`,
  });
  const [oldest] = rows;
  return oldest && (await store.eventAt(oldest.position))?.recordedAt;
}
