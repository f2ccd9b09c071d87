import type { Queryable } from '#postgres';
import { OUTCOME, type OutcomeRow } from './row.js';

/** An outcome as it is given out. */
export type StoredOutcome = Omit<OutcomeRow, 'recordedAt'>;

const GIVEN_OUT = ['position', 'id', 'type', 'topic', 'subject', 'body'] as const satisfies (keyof StoredOutcome)[];

/** Most bytes of bodies in one page, the first row aside: what is read at once must fit in memory. */
const MOST_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Outcomes after a position in log order, at most `limit`, fewer where they are large. Rows appear in log order, so
 * none comes before one that was read.
 */
export async function outcomesAfter(db: Queryable, after: bigint, limit: number): Promise<StoredOutcome[]> {
  const { rows } = await db.query<StoredOutcome>({
    name: 'outcomes-after',
    text: `SELECT ${OUTCOME.select({ only: GIVEN_OUT })} FROM (
             SELECT *, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS bytes_before
             FROM (SELECT * FROM outcome_event WHERE position > $1 ORDER BY position LIMIT $2) AS next
           ) AS page WHERE bytes_before < $3 ORDER BY position`,
    values: [after, limit, MOST_PAGE_BYTES],
  });
  return rows;
}

/** Position of the newest outcome; 0 when there never was one. */
export async function newestOutcome(db: Queryable): Promise<bigint> {
  const { rows } = await db.query<{ newest: bigint }>({
    name: 'newest-outcome',
    text: `SELECT greatest((SELECT max(position) FROM outcome_event),
             (SELECT up_to FROM outcome_removed), 0) AS newest`,
  });
  return rows[0]?.newest ?? 0n;
}

/** Up to which position old outcomes were removed; 0 when none was. */
export async function outcomesRemovedUpTo(db: Queryable): Promise<bigint> {
  const { rows } = await db.query<{ up_to: bigint }>('SELECT up_to FROM outcome_removed');
  return rows[0]?.up_to ?? 0n;
}

/**
 * Removes outcomes recorded before `before`, up to and including the position `upTo`, at most `limit` of them, oldest
 * first, and keeps up to where. Returns how many. What a cursor has still to deliver lies above `upTo`. Looks at the
 * first `limit` rows alone: what comes later in the log was recorded later, and there may be millions of it.
 */
export async function removeOutcomes(
  db: Queryable,
  options: { before: Date; upTo: bigint; limit: number },
): Promise<number> {
  const { rows } = await db.query<{ removed: bigint }>({
    name: 'remove-outcomes',
    text: `WITH old AS (
             SELECT position FROM (
               SELECT position, recorded_at FROM outcome_event WHERE position <= $1 ORDER BY position LIMIT $3
             ) AS first WHERE recorded_at < $2
           ), removed AS (
             DELETE FROM outcome_event WHERE position IN (SELECT position FROM old) RETURNING position
           ), noted AS (
             INSERT INTO outcome_removed (up_to) SELECT max(position) FROM removed HAVING count(*) > 0
             ON CONFLICT (single) DO UPDATE SET up_to = greatest(outcome_removed.up_to, excluded.up_to)
           ) SELECT count(*) AS removed FROM removed`,
    values: [options.upTo, options.before, options.limit],
  });
  return Number(rows[0]?.removed ?? 0n);
}
