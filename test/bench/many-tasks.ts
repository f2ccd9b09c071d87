import type { Pool } from '#postgres';

/**
 * Waiting tasks of one lane by the hundred thousand: four priorities, four kinds, due from an hour on; and beside them
 * one in a thousand that was given up, and 200 that others hold under a lease though they are due.
 */
export async function fillTasks(pool: Pool, { lane, rows }: { lane: string; rows: number }): Promise<void> {
  await pool.query(
    `INSERT INTO task (key, kind, lane, priority, due_at, lease_until, failed_at, payload)
     SELECT 'many:' || n, (ARRAY['status', 'group_look', 'settle_group', 'inbound_status'])[1 + n % 4], $1, (ARRAY[50,
       100, 200, 900])[1 + (n / 7) % 4],
       CASE WHEN n <= 200 THEN statement_timestamp() - interval '1 s'
         WHEN n % 1000 = 0 THEN 'infinity' ELSE statement_timestamp() + interval '1 hour' + n * interval '10 ms' END,
       CASE WHEN n <= 200 THEN statement_timestamp() + interval '1 hour' ELSE '-infinity' END, CASE
         WHEN n % 1000 = 0 THEN statement_timestamp() END, '{}'
     FROM generate_series(1, $2::int) AS n`,
    [lane, rows],
  );
  await pool.query('VACUUM ANALYZE task');
}
