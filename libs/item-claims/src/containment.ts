import type { Transaction } from '#postgres';
import type { ContainmentChange, NamedItems } from './named-items.js';

/**
 * The items of documents that a concluded one changed: by their claims, which are still there, or as they were read.
 */
const GIVEN = {
  claims:
    'SELECT DISTINCT ON (item) item, parent FROM item_claim WHERE holder = ANY ($1::bigint[]) AND is_exclusive ' +
    'ORDER BY item, holder DESC',
  items: 'SELECT item, parent FROM unnest($1::text[], $2::text[]) AS given(item, parent)',
};

const CHANGES: Record<ContainmentChange, string> = {
  packed: `INSERT INTO item_container SELECT item, parent FROM given WHERE parent IS NOT NULL
    ON CONFLICT (child) DO UPDATE SET parent = excluded.parent WHERE item_container.parent <> excluded.parent`,
  taken_out: 'DELETE FROM item_container USING given WHERE child = item',
  opened: 'DELETE FROM item_container USING given WHERE child = item OR item_container.parent = item',
  opened_all: `DELETE FROM item_container WHERE child IN (
    WITH RECURSIVE inside AS (
      SELECT item AS child FROM given
      UNION SELECT c.child FROM inside JOIN item_container c ON c.parent = inside.child
    ) SELECT child FROM inside)`,
};

/** What these documents, which all do the same, did to containment. */
export async function changeByClaims(tx: Transaction, change: ContainmentChange, holders: number[]): Promise<void> {
  await tx.query({
    name: `item-container-claims-${change}`,
    text: `WITH given AS MATERIALIZED (${GIVEN.claims}) ${CHANGES[change]}`,
    values: [holders],
  });
}

/** The same for a document that claims nothing here: of others, or one that turned out otherwise. */
export async function changeByItems(tx: Transaction, { change, items }: NamedItems): Promise<void> {
  if (change === undefined) return;
  await tx.query({
    name: `item-container-items-${change}`,
    text: `WITH given AS MATERIALIZED (${GIVEN.items}) ${CHANGES[change]}`,
    values: [items.map((one) => one.item), items.map((one) => one.parent ?? null)],
  });
}
