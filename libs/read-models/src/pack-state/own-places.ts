import { typeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import { IN_OUR_NAME } from '../sgtin-history/row.js';

const MOVE_WITHIN = typeKnowledge.known.filter(typeKnowledge.movesWithin);
const BRING_GOODS = typeKnowledge.known.filter(typeKnowledge.bringsGoods);

const COUNTS = "known_to IS NULL AND outcome IN ('accepted', 'partial')";
const NEXT_SUBJECT = `SELECT min(subject_id) FROM movement_document WHERE ${COUNTS} AND ${IN_OUR_NAME}`;
const nextReceiver = (whose: string): string => `SELECT min(counterparty_id) FROM movement_document
  WHERE ${COUNTS} AND counterparty_id IS NOT NULL AND ${whose} AND doc_type = type`;
const receivers = (types: readonly number[], whose: string): string => `
    SELECT type, (${nextReceiver(whose)}) AS place FROM unnest(ARRAY[${types.join(', ')}]) AS type
    UNION ALL
    SELECT type, (${nextReceiver(whose)} AND counterparty_id > place) FROM receiver WHERE place IS NOT NULL`;

/**
 * Places of ours: those that an accepted document of ours speaks for, also one that went past this system; those to
 * which such a one moves our own goods; and those to which another participant has told us that goods go. Each step
 * takes the next place of an index, so that a place with a million documents costs as much as one with a few.
 */
const OWN_PLACES = `
  WITH RECURSIVE subject AS (
    SELECT (${NEXT_SUBJECT}) AS place
    UNION ALL
    SELECT (${NEXT_SUBJECT} AND subject_id > place) FROM subject WHERE place IS NOT NULL
  ), moved AS (
    WITH RECURSIVE receiver AS (${receivers(MOVE_WITHIN, IN_OUR_NAME)})
    SELECT place FROM receiver
  ), told AS (
    WITH RECURSIVE receiver AS (${receivers(BRING_GOODS, "channel = 'counterparty'")})
    SELECT place FROM receiver
  )
  SELECT place FROM subject WHERE place <> ''
  UNION SELECT place FROM moved WHERE place <> ''
  UNION SELECT place FROM told WHERE place <> ''`;

export const ownPlaces = async (db: Queryable): Promise<ReadonlySet<string>> =>
  new Set((await db.query<{ place: string }>(OWN_PLACES)).rows.map(({ place }) => place));
