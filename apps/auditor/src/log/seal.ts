import type { RecordedEvent } from '#event-store';
import { grownTiles } from '#merkle';
import type { Queryable, Transaction } from '#postgres';
import { leafOf } from './leaf.js';
import { tilesIn, writeTiles } from './tile-table.js';

/**
 * Makes a page of events leaves of the Merkle log, in the transaction that also moves the checkpoint of the
 * subscription: each event is one leaf, in the order of the log, whatever crashes.
 */
export async function seal(events: RecordedEvent[], tx: Transaction): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  const size = await lockedSize(tx);
  await writeTiles(tx, await grownTiles(size, events.map(leafOf), tilesIn(tx)));
  await tx.query(
    // A page begins where the one before ended, at a position that the log itself gave: from there it can be read
    // again.
    'INSERT INTO audit_page (first_leaf, after_position, last_position, leaves) SELECT $1, ' +
      'coalesce(max(last_position), 0), $2, $3 FROM audit_page',
    [size, last.position, events.length],
  );
  await tx.query('UPDATE audit_tree SET size = $1', [size + events.length]);
}

/** Leaves so far; the row is locked until the transaction ends. */
async function lockedSize(tx: Transaction): Promise<number> {
  await tx.query('INSERT INTO audit_tree (size) VALUES (0) ON CONFLICT DO NOTHING');
  const { rows } = await tx.query<{ size: bigint }>('SELECT size FROM audit_tree FOR UPDATE');
  return Number(rows[0]?.size ?? 0n);
}

/** Leaves that are sealed. */
export async function sealedSize(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ size: bigint }>('SELECT size FROM audit_tree');
  return Number(rows[0]?.size ?? 0n);
}
