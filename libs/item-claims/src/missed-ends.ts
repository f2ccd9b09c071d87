import { MAX_ITEM_PREDECESSORS, MAX_ITEMS_TOLD, type ItemPredecessor } from '#domain';
import type { Transaction } from '#postgres';
import { isPlaceIn, steps } from './waits.js';

/** A document, or a split one as a whole, that ended badly. */
interface BadEnd {
  id: string;
  /** Its group, or itself. */
  unit: string;
  /** Of its end. */
  position: bigint;
}

/** A unit `u` is held for what the ended one `e` came in place of, and so is asked about both. */
const HELD_FOR_OLD = `EXISTS (
    SELECT FROM item_wait o WHERE o.dependent = u.id AND o.predecessor = ANY (u.holds) AND o.rank = e.rank
  )`;

/** $1: the id of what ended, $2: its unit, $3: the position of its end. */
const KEEP_MISSED = `WITH RECURSIVE ended AS (
    SELECT h.number, h.told_command, u.rank FROM claim_holder h JOIN claim_holder u ON u.id = h.unit
    WHERE (h.id = $1 OR (h.unit = $1 AND h.unit <> h.id)) AND u.phase <> 'at_gate'
  ), ahead AS (
    SELECT $2::text COLLATE "C" AS id UNION ${steps('ahead', 'true')}
  ), met AS (
    SELECT u.id, u.rank, theirs.item, e.told_command, e.rank AS rank_of_end, w.dependent IS NOT NULL AS has_row,
      bool_or(mine.is_exclusive) AND (w.dependent IS NULL OR w.is_told OR w.missed IS NOT NULL OR ${HELD_FOR_OLD})
        AS may_shield
    FROM ended e JOIN item_claim theirs ON theirs.holder = e.number AND NOT ${isPlaceIn('theirs.item')}
      JOIN item_claim mine ON mine.item = theirs.item AND (mine.is_exclusive OR theirs.is_exclusive)
      JOIN claim_holder m ON m.number = mine.holder JOIN claim_holder u ON u.id = m.unit
      LEFT JOIN item_wait w ON w.predecessor = $1 AND w.dependent = u.id
    WHERE u.phase IN ('deciding', 'waiting') AND NOT u.waives AND u.rank > e.rank AND u.rank < $3
      AND u.id NOT IN (SELECT id FROM ahead)
    GROUP BY u.id, u.rank, u.holds, theirs.item, e.told_command, e.rank, w.predecessor, w.dependent
  ), shield AS (
    SELECT item, min(rank) AS rank FROM met WHERE may_shield GROUP BY item
  ), behind AS (
    SELECT met.id, min(rank_of_end) AS rank, min(told_command) AS command, count(*) AS items,
      (array_agg(met.item))[1:${MAX_ITEMS_TOLD}] AS first_items,
      bool_and(coalesce(shield.rank < met.rank, false)) AS is_shielded
    FROM met LEFT JOIN shield USING (item) WHERE NOT has_row GROUP BY met.id
  )
  INSERT INTO item_wait (predecessor, dependent, is_item, rank, is_told, missed, is_shielded)
  SELECT $1, id, true, rank, false, jsonb_build_object('commandId', command, 'requestId', $1::text,
      'itemCount', items, 'items', to_jsonb(ARRAY(SELECT unnest(first_items) ORDER BY 1))), is_shielded
  FROM behind`;

/**
 * Keeps a bad end for those that wait behind it for its packs, and were not told to wait for it: they wait for a newer
 * document, or for others, and by the time that they are decided about anew the claims of this one are gone. It is
 * shielded where each pack has one between the two that is held for this end: a person decides about that, and who
 * comes behind it waits for it. Called while its claims and waits are there, and those of earlier ends are not.
 */
export async function keepMissedEnd(tx: Transaction, { id, unit, position }: BadEnd): Promise<void> {
  await tx.query({
    name: 'item-wait-keep-missed',
    text: KEEP_MISSED,
    values: [id, unit, position],
  });
  // One that ended without having heard of an end before it is no shield: nobody has decided about that.
  await tx.query({
    name: 'item-wait-end-shield-unheard',
    text: `UPDATE item_wait w SET is_shielded = false FROM item_wait own
      WHERE own.predecessor = $1 AND w.dependent = own.dependent AND w.predecessor <> $1 AND w.is_shielded
        AND NOT EXISTS (
          SELECT FROM item_wait told JOIN claim_holder h ON h.id = told.dependent AND h.phase = 'waiting'
          WHERE told.predecessor = w.predecessor AND told.dependent = $2 AND told.is_told
        )`,
    values: [id, unit],
  });
}

/** What ended badly before a unit, and it was not told of; as many as a wait names. */
export async function missedBy(tx: Transaction, unit: string): Promise<ItemPredecessor[]> {
  const { rows } = await tx.query<{ missed: ItemPredecessor }>({
    name: 'item-wait-missed',
    text: `SELECT missed FROM item_wait WHERE dependent = $1 AND missed IS NOT NULL AND NOT is_shielded
      ORDER BY rank, predecessor LIMIT ${MAX_ITEM_PREDECESSORS}`,
    values: [unit],
  });
  return rows.map((row) => row.missed);
}

/**
 * A unit is not held for these any more, and nobody has decided so: those behind it are told themselves. `ended`
 * absent: whatever it waited for, since it is under way.
 */
export async function endShield(tx: Transaction, unit: string, ended?: string[]): Promise<void> {
  await tx.query({
    name: 'item-wait-end-shield',
    text: `UPDATE item_wait w SET is_shielded = false
      FROM item_wait own, claim_holder shield, claim_holder behind
      WHERE own.dependent = $1 AND shield.id = $1 AND ($2::text[] IS NULL OR own.predecessor = ANY ($2::text[]))
        AND w.predecessor = own.predecessor AND w.is_shielded
        AND behind.id = w.dependent AND behind.rank > shield.rank`,
    values: [unit, ended],
  });
}
