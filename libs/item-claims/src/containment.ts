import type { Transaction } from '#postgres';
import type { ContainmentChange, NamedItems } from './named-items.js';

/** ISO 8601, to the microsecond. */
export type Instant = string;

/** A document that ended, by its claims, and when that counts from. */
export interface EndedHolder {
  number: number;
  at: Instant;
}

/** The items of documents that changed containment: by their claims, which are still there, or as they were read. */
const GIVEN = {
  claims: `SELECT DISTINCT ON (item) item, parent, at
    FROM unnest($1::bigint[], $2::timestamptz[]) AS ended(holder, at) JOIN item_claim USING (holder)
    WHERE holder = ANY ($1::bigint[]) AND is_exclusive ORDER BY item, at DESC, holder DESC`,
  // Collated as the tables are: a recursive query that begins here takes no other collation than it goes on with.
  items: `SELECT item COLLATE "C" AS item, parent COLLATE "C" AS parent, $3::timestamptz AS at
    FROM unnest($1::text[], $2::text[]) AS given(item, parent)`,
};

/** What was accepted later stands, in whichever order it is heard of. */
const CHANGES: Record<ContainmentChange, string> = {
  packed: `INSERT INTO item_container SELECT item, parent, at FROM given WHERE parent IS NOT NULL
    ON CONFLICT (child) DO UPDATE SET parent = excluded.parent, since = excluded.since
    WHERE item_container.since <= excluded.since`,
  taken_out: 'DELETE FROM item_container USING given WHERE child = item AND since <= at',
  opened: 'DELETE FROM item_container USING given WHERE (child = item OR item_container.parent = item) AND since <= at',
  opened_all: `DELETE FROM item_container USING (
    WITH RECURSIVE inside AS (
      SELECT item AS child, at FROM given
      UNION SELECT c.child, at FROM inside JOIN item_container c ON c.parent = inside.child AND c.since <= at
    ) SELECT child, max(at) AS at FROM inside GROUP BY child) AS opened
    WHERE item_container.child = opened.child AND since <= at`,
};

/**
 * Who has claimed what was packed claims the containers around it from now on: a document that comes after a packing
 * may register before it.
 */
const AROUND = `INSERT INTO item_claim
    WITH RECURSIVE around AS (
      SELECT c.holder, o.parent AS container FROM given g JOIN item_claim c ON c.item = g.item
        JOIN item_container o ON o.child = g.item
      WHERE g.parent IS NOT NULL
      UNION SELECT a.holder, o.parent FROM around a JOIN item_container o ON o.child = a.container
    ) SELECT container, holder, false, NULL FROM around
  ON CONFLICT DO NOTHING`;

/** What these documents, which all do the same, did to containment. */
export async function changeByClaims(tx: Transaction, change: ContainmentChange, ended: EndedHolder[]): Promise<void> {
  await write(tx, change, { of: 'claims', values: [ended.map(({ number }) => number), ended.map(({ at }) => at)] });
}

/** The same for what claims nothing here: documents of others, or of ours that turned out otherwise. */
export async function changeByItems(
  tx: Transaction,
  { change, items }: Pick<NamedItems, 'change' | 'items'>,
  at: Instant,
): Promise<void> {
  if (change === undefined) return;
  const values = [items.map((one) => one.item), items.map((one) => one.parent ?? null), at];
  await write(tx, change, { of: 'items', values });
}

/** Changes containment, and claims what follows. */
async function write(
  tx: Transaction,
  change: ContainmentChange,
  { of, values }: { of: keyof typeof GIVEN; values: unknown[] },
): Promise<void> {
  const given = `WITH given AS MATERIALIZED (${GIVEN[of]})`;
  await tx.query({ name: `item-container-${of}-${change}`, text: `${given} ${CHANGES[change]}`, values });
  if (change === 'packed') await tx.query({ name: `item-claims-around-${of}`, text: `${given} ${AROUND}`, values });
}
