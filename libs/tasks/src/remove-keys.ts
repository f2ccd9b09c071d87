import type { Queryable } from '#postgres';

/**
 * In the order of days, so that the index finds them. A key whose task is still there stays: a list's reader is one
 * task for ever.
 */
const REMOVE = `
WITH old AS MATERIALIZED (
  SELECT digest FROM task_key WHERE scheduled_on < current_date - $1::int ORDER BY scheduled_on LIMIT $2::int
), live AS (
  SELECT substring(sha256(convert_to(key, 'UTF8')) FOR 16) AS digest FROM task WHERE EXISTS (SELECT FROM old)
), touched AS (
  UPDATE task_key k SET scheduled_on = current_date FROM old JOIN live USING (digest) WHERE k.digest = old.digest
    RETURNING k.digest
), removed AS (
  DELETE FROM task_key k USING old WHERE k.digest = old.digest AND NOT EXISTS (SELECT FROM live
    WHERE live.digest = old.digest) RETURNING k.digest
)
SELECT (SELECT count(*) FROM removed) + (SELECT count(*) FROM touched) AS settled`;

/**
 * Forgets at most `limit` keys that were scheduled more than `keptDays` days ago by the database's clock, and whose
 * task is gone. A key whose task is still there counts from today. Returns how many keys were settled in one of the two
 * ways. The caller makes sure that nothing schedules them again.
 */
export async function removeTaskKeys(
  db: Queryable,
  { keptDays, limit }: { keptDays: number; limit: number },
): Promise<number> {
  const { rows } = await db.query<{ settled: bigint }>(REMOVE, [keptDays, limit]);
  return Number(rows[0]?.settled ?? 0n);
}
