import type { Queryable } from '#postgres';

/** Documents and groups that a bad end before them holds, for metrics. */
export interface HeldFigures {
  held: number;
  oldestSeconds: number;
  /** Held for longer than the limit: somebody has to decide. */
  overdue: number;
}

/**
 * Reads what is in flight, never the many that are concluded. Ages are the database's: `since` is when the event was
 * recorded.
 */
export async function heldFigures(db: Queryable, limitSeconds: number): Promise<HeldFigures> {
  const { rows } = await db.query<HeldFigures>({
    name: 'held-figures',
    text: `WITH held AS (
             SELECT held_for FROM document_outcome WHERE outcome IS NULL AND phase = 'held' UNION ALL SELECT held_for
               FROM document_group WHERE phase = 'held'
           ), aged AS (
             SELECT extract(epoch FROM clock_timestamp() - (SELECT min((one->>'since')::timestamptz)
               FROM jsonb_array_elements(held_for) AS one)) AS seconds FROM held
           ) SELECT count(*)::int AS held, greatest(0, coalesce(max(seconds), 0))::float8 AS "oldestSeconds",
             (count(*) FILTER (WHERE seconds > $1))::int AS overdue FROM aged`,
    values: [limitSeconds],
  });
  return rows[0] ?? { held: 0, oldestSeconds: 0, overdue: 0 };
}
