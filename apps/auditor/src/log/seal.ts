import { grownTiles } from '#merkle';
import type { Transaction } from '#postgres';
import { NEWEST_FORM } from '#proofs';
import { cachedTiles, tileColumns, tilesIn, WRITE_TILES } from '#sealed-log';
import { leafOfSealable, type Sealable } from './leaf-pages.js';

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
export async function seal(events: Sealable[], tx: Transaction): Promise<void> {
  await sealBehind(await lockedSize(tx), events, tx);
}

/** The same where `lockedSize` was asked in this transaction already. */
export async function sealBehind(first: number, events: Sealable[], tx: Transaction): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  const leaves = events.map(leafOfSealable);
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
