import type { Queryable } from '#postgres';

/**
 * Who appends changes the counter's row before it takes the time of its events, and its transaction has a lock on
 * itself until it has committed. So what is dated by then was committed, or `xmax` names who is about to. An event of
 * a later time tells as well, for events are committed in the order of the log: a busy counter is never seen free.
 * `statement_timestamp()` is of before the rows are read, and moments of events are told in whole milliseconds.
 */
const HAS_ALL = `SELECT statement_timestamp() >= $1::timestamptz + interval '1 millisecond' AND (
    NOT EXISTS (SELECT FROM event_counter c JOIN pg_locks l ON l.transactionid = c.xmax AND l.granted)
    OR coalesce((SELECT recorded_at >= $1::timestamptz + interval '1 millisecond'
      FROM event ORDER BY position DESC LIMIT 1), false)) AS "hasAll"`;

/**
 * Whether the log in this database has all that it will ever have from this millisecond or before. Of a log on a
 * server it only tells that the millisecond is over by the clock of the database.
 */
export async function hasAllRecordedBy(db: Queryable, moment: Date): Promise<boolean> {
  const query = { name: 'event-has-all', text: HAS_ALL, values: [moment] };
  return (await db.query<{ hasAll: boolean }>(query)).rows[0]?.hasAll === true;
}
