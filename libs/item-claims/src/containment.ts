import type { Transaction } from '#postgres';
import type { ContainmentChange, NamedItems } from './named-items.js';

/**
 * The items of documents that a concluded one changed: by their claims, which are still there, or as they were read.
 */
const GIVEN = {
  claims:
    'SELECT DISTINCT ON (item) item, parent FROM item_claim WHERE holder = ANY ($1::bigint[]) AND is_exclusive ' +
    'ORDER BY item, holder DESC',
  // Collated as the tables are: a recursive query that begins here takes no other collation than it goes on with.
  items:
    'SELECT item COLLATE "C" AS item, parent COLLATE "C" AS parent ' +
    'FROM unnest($1::text[], $2::text[]) AS given(item, parent)',
};

const CHANGES: Record<ContainmentChange | 'packed_late', string> = {
  packed_late:
    'INSERT INTO item_container SELECT item, parent FROM given WHERE parent IS NOT NULL ON CONFLICT DO NOTHING',
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

/**
 * Who has claimed what was packed claims the containers around it from now on: a document that comes after a packing
 * may register before it.
 */
const AROUND = `INSERT INTO item_claim
    WITH RECURSIVE around AS (
      SELECT c.holder, g.parent AS container FROM given g JOIN item_claim c ON c.item = g.item
      WHERE g.parent IS NOT NULL
      UNION SELECT a.holder, o.parent FROM around a JOIN item_container o ON o.child = a.container
    ) SELECT container, holder, false, NULL FROM around
  ON CONFLICT DO NOTHING`;

/** What these documents, which all do the same, did to containment. */
export async function changeByClaims(tx: Transaction, change: ContainmentChange, holders: number[]): Promise<void> {
  await write(tx, change, { of: 'claims', values: [holders] });
}

/**
 * The same for a document that claims nothing here: of others, or one that turned out otherwise. `isLate`: it is heard
 * of long after, so what was told of the items since then counts more. It only packs those of which nothing is known,
 * for in doubt an item stays inside.
 */
export async function changeByItems(
  tx: Transaction,
  { change, items }: Pick<NamedItems, 'change' | 'items'>,
  isLate: boolean,
): Promise<void> {
  if (change === undefined || (isLate && change !== 'packed')) return;
  const values = [items.map((one) => one.item), items.map((one) => one.parent ?? null)];
  await write(tx, isLate ? 'packed_late' : change, { of: 'items', values });
}

/** Changes containment, and claims what follows. */
async function write(
  tx: Transaction,
  change: keyof typeof CHANGES,
  { of, values }: { of: keyof typeof GIVEN; values: unknown[] },
): Promise<void> {
  const given = `WITH given AS MATERIALIZED (${GIVEN[of]})`;
  await tx.query({ name: `item-container-${of}-${change}`, text: `${given} ${CHANGES[change]}`, values });
  if (change.startsWith('packed'))
    await tx.query({ name: `item-claims-around-${of}`, text: `${given} ${AROUND}`, values });
}
