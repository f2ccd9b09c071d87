import type { Queryable } from '#postgres';
import type { Projection } from '#subscriptions';

/** Leaves no row in the tables of these read models. */
export async function emptyTables(db: Queryable, ...models: Pick<Projection, 'tables'>[]): Promise<void> {
  await db.query(`TRUNCATE ${models.flatMap(({ tables }) => tables).join(', ')}`);
}
