import type { MigrationSet } from './migrate.js';
import type { Queryable } from './pool.js';

export const installationSchema: MigrationSet = {
  name: 'installation',
  directory: new URL('./installation/', import.meta.url),
};

/**
 * The identity of this installation: the namespace of its request ids and event ids. Made with the database, never
 * changed.
 */
export async function installationId(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM installation');
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no installation row');
  return row.id;
}
