import type { Queryable } from '#postgres';

/**
 * Whether somebody waits for a lock of this database: on the table `of`, else on any. Other specs share the server, and
 * their copies of a template have the same numbers for the same tables.
 */
export async function lockIsAwaited(db: Queryable, of?: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM pg_locks WHERE NOT granted AND relation = coalesce($1::regclass, relation)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [of ?? null],
  );
  return rows.length > 0;
}
