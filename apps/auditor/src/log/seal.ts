import type { RecordedEvent } from '#event-store';
import { grownTiles } from '#merkle';
import type { Queryable, Transaction } from '#postgres';
import { leafOf, NEWEST_FORM, type LeafForm } from '#proofs';
import { cachedTiles } from '../proof/cached-tiles.js';
import { tileColumns, tilesIn, WRITE_TILES } from './tile-table.js';

const WRITE_PAGE = `WITH grown AS (UPDATE audit_tree SET size = $1::bigint + $3::int),
    page AS (
      INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form)
      SELECT $1, coalesce(max(last_position), 0), $2, $3, $4 FROM audit_page
    )
  ${WRITE_TILES('$5', '$6', '$7')}`;

/**
 * Makes a page of events leaves of the Merkle log, in the transaction that also moves the checkpoint of the
 * subscription: each event is one leaf, in the order of the log, whatever crashes. The page keeps in which form.
 */
export async function seal(events: RecordedEvent[], tx: Transaction): Promise<void> {
  await sealBehind(await lockedSize(tx), events, tx);
}

/** The same where `lockedSize` was asked in this transaction already. */
export async function sealBehind(first: number, events: RecordedEvent[], tx: Transaction): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  const leaves = events.map((event) => leafOf(event));
  const tiles = await grownTiles(first, leaves, cachedTiles(tilesIn(tx)));
  await tx.query({
    name: 'audit-seal',
    // A page begins where the one before ended, at a position that the log itself gave: from there it can be read
    // again.
    text: WRITE_PAGE,
    values: [first, last.position, events.length, NEWEST_FORM, ...tileColumns(tiles)],
  });
}

/** Leaves so far; the row is locked until the transaction ends. */
export async function lockedSize(tx: Transaction): Promise<number> {
  const read = 'SELECT size FROM audit_tree FOR UPDATE';
  let { rows } = await tx.query<{ size: bigint }>(read);
  if (rows.length === 0) {
    await tx.query('INSERT INTO audit_tree (size) VALUES (0) ON CONFLICT DO NOTHING');
    ({ rows } = await tx.query<{ size: bigint }>(read));
  }
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
