import type { Queryable } from '#postgres';
import type { LeafForm } from '#proofs';

/** A run of events, and the leaves that they are. */
export interface SealedPage {
  firstLeaf: number;
  afterPosition: bigint;
  lastPosition: bigint;
  leaves: number;
  /** In which all of them were sealed. */
  form: LeafForm;
}

const PAGE_COLUMNS =
  'first_leaf AS "firstLeaf", after_position AS "afterPosition", last_position AS "lastPosition", leaves, form ' +
  'FROM audit_page';
type PageRow = Omit<SealedPage, 'firstLeaf'> & { firstLeaf: bigint };
const pageOf = (rows: PageRow[]): SealedPage | undefined =>
  rows.map((row) => ({ ...row, firstLeaf: Number(row.firstLeaf) }))[0];

/** The page that was sealed last. */
export async function newestPage(db: Queryable): Promise<SealedPage | undefined> {
  return pageOf((await db.query<PageRow>(`SELECT ${PAGE_COLUMNS} ORDER BY last_position DESC LIMIT 1`)).rows);
}

/** The pages that have the events of these positions, in their order; undefined where one is not sealed yet. */
export async function pagesWith(db: Queryable, positions: bigint[]): Promise<(SealedPage | undefined)[]> {
  const { rows } = await db.query<PageRow | { firstLeaf: null }>({
    name: 'audit-pages-with',
    text: `SELECT page.* FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (position, n)
      LEFT JOIN LATERAL (
        SELECT ${PAGE_COLUMNS} WHERE last_position >= asked.position ORDER BY last_position LIMIT 1
      ) AS page ON true ORDER BY n`,
    values: [positions],
  });
  return rows.map((row) => (row.firstLeaf === null ? undefined : pageOf([row])));
}

/** The page that has this leaf; undefined where it is not sealed yet. */
export async function pageOfLeaf(db: Queryable, leaf: number): Promise<SealedPage | undefined> {
  const text = `SELECT ${PAGE_COLUMNS} WHERE first_leaf <= $1 ORDER BY first_leaf DESC LIMIT 1`;
  const page = pageOf((await db.query<PageRow>(text, [leaf])).rows);
  return page !== undefined && leaf < page.firstLeaf + page.leaves ? page : undefined;
}

/** The first leaf that names digests (form 2); undefined where none does yet. */
export async function digestsFrom(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ leaf: bigint }>(
    'SELECT first_leaf AS leaf FROM audit_page WHERE form = 2 ORDER BY first_leaf LIMIT 1',
  );
  return rows[0] === undefined ? undefined : Number(rows[0].leaf);
}

/** Leaves that are sealed. */
export async function sealedSize(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ size: bigint }>('SELECT size FROM audit_tree');
  return Number(rows[0]?.size ?? 0n);
}
