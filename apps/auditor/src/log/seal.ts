import type { RecordedEvent } from '#event-store';
import { grownTiles } from '#merkle';
import type { Queryable, Transaction } from '#postgres';
import { type LeafForm, leafOf, NEWEST_FORM } from '#proofs';
import { tilesIn, writeTiles } from './tile-table.js';

/**
 * Makes a page of events leaves of the Merkle log, in the transaction that also moves the checkpoint of the
 * subscription: each event is one leaf, in the order of the log, whatever crashes. The page keeps in which form.
 */
export async function seal(events: RecordedEvent[], tx: Transaction): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  const size = await lockedSize(tx);
  await writeTiles(
    tx,
    await grownTiles(
      size,
      events.map((event) => leafOf(event)),
      tilesIn(tx),
    ),
  );
  await tx.query(
    // A page begins where the one before ended, at a position that the log itself gave: from there it can be read
    // again.
    'INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form) SELECT $1, ' +
      'coalesce(max(last_position), 0), $2, $3, $4 FROM audit_page',
    [size, last.position, events.length, NEWEST_FORM],
  );
  await tx.query('UPDATE audit_tree SET size = $1', [size + events.length]);
}

/** Leaves so far; the row is locked until the transaction ends. */
export async function lockedSize(tx: Transaction): Promise<number> {
  await tx.query('INSERT INTO audit_tree (size) VALUES (0) ON CONFLICT DO NOTHING');
  const { rows } = await tx.query<{ size: bigint }>('SELECT size FROM audit_tree FOR UPDATE');
  return Number(rows[0]?.size ?? 0n);
}

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

/** The page that has the event of this position; undefined where that is not sealed yet. */
export async function pageWith(db: Queryable, position: bigint): Promise<SealedPage | undefined> {
  const text = `SELECT ${PAGE_COLUMNS} WHERE last_position >= $1 ORDER BY last_position LIMIT 1`;
  return pageOf((await db.query<PageRow>(text, [position])).rows);
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
