import type { RecordedEvent } from '#event-store';
import { grownTiles } from '#merkle';
import type { Transaction } from '#postgres';
import { leafOf, NEWEST_FORM } from '#proofs';
import { tilesIn, writeTiles } from '#sealed-log';

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
