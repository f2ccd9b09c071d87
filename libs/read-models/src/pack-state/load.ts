import { CORRECTION_OF_DETAILS, typeKnowledge } from '#documents';
import { reachByLevels, type Queryable } from '#postgres';
import { leftOpen, maskOf, useOf } from '../sgtin-history/doubtful-parts.js';
import { microsOf, orderOfRecall } from '../sgtin-history/life-rows.js';
import { inOurName, MOVEMENT_EFFECT } from '../sgtin-history/row.js';
import type { PlaceMove } from './fold.js';
import { Lives, type EntryEffect, type LifeEntry, type Told } from './lives.js';
import { SERIES_TOLD } from './row.js';
import type { TransferStep } from './transfer.js';

/** An instant as microseconds since 1970: what a JavaScript date cannot hold. */
export const MICROS = microsOf('d.ordered_at');

/** What these items were packed into, and what they were named by: for each, one look into the index. */
const PACKED_INTO = `SELECT c.parent FROM unnest($1::text[]) AS given (item)
    CROSS JOIN LATERAL (SELECT parent FROM containment one WHERE one.child = given.item OFFSET 0) c`;
const NAMED_BY = `SELECT m.item, m.known_from AS position, m.effect, m.ordinal FROM unnest($1::text[]) AS given (item)
    CROSS JOIN LATERAL (SELECT * FROM item_movement one WHERE one.item = given.item OFFSET 0) m`;

const RECALLABLE = typeKnowledge.known.filter(typeKnowledge.isRecallable);
/**
 * Under which ids the registry took document d, or what the notification d tells of: several, where there are copies of
 * that.
 */
const SENT_AS = `SELECT s.document_id FROM sent_document s WHERE s.request_id = d.request_id AND d.request_id <> ''
      AND (d.document_id IS NULL OR NOT ${inOurName('d.channel')})
    UNION ALL SELECT c.document_id FROM movement_document c WHERE c.request_id = d.request_id AND d.request_id <> ''
      AND ${inOurName('c.channel')} AND NOT ${inOurName('d.channel')}`;
/** Whether a recall that came after document d makes it as if it had not been. */
export const IS_RECALLED = `d.doc_type IN (${RECALLABLE.join(', ')}) AND EXISTS (
    SELECT FROM movement_document r
    WHERE r.recalls = ANY (ARRAY[d.request_id, d.document_id] || ARRAY(${SENT_AS}))
      AND r.recalls <> '' AND r.known_to IS NULL AND r.outcome IN ('accepted', 'partial')
      AND (${orderOfRecall('r.ordered_at')}, r.known_from) > (d.ordered_at, d.known_from))`;

const DOCUMENTS = `SELECT d.known_from AS position, ${MICROS} AS "atMicros", d.doc_type AS "docType",
    d.subject_id AS subject, d.counterparty_id AS counterparty, ${IS_RECALLED} AS "isRecalled"
  FROM movement_document d WHERE d.known_from = ANY ($1::bigint[]) AND d.known_to IS NULL`;

interface DocumentOfLife extends Omit<TransferStep, 'step'> {
  position: bigint;
  atMicros: bigint;
  docType: number;
  isRecalled: boolean;
}

const OF_EFFECT = ['result', 'status', 'place', 'owner', 'holder', 'containment', 'container', 'part'] as const;
const EFFECTS = `SELECT known_from AS position, effect,
    ${MOVEMENT_EFFECT.select({ only: OF_EFFECT })}
  FROM movement_effect WHERE known_from = ANY ($1::bigint[])`;

const OF_TOLD = ['position', 'item', 'gtin', 'series', 'expiresOn'] as const;
const TOLD = `SELECT ${MICROS} AS "atMicros", d.doc_type = ${CORRECTION_OF_DETAILS} AS "isCorrection",
    ${SERIES_TOLD.select({ of: 't', only: OF_TOLD })}
  FROM series_told t JOIN movement_document d ON d.known_from = t.position
  WHERE d.known_to IS NULL AND d.outcome IN ('accepted', 'partial')
    AND (t.item <> '' AND t.item = ANY ($2::text[]) OR t.item = '' AND t.position = ANY ($1::bigint[]))
  ORDER BY t.position, t.ordinal`;

/** Moves of whole places: an installation has a handful in its life. */
const MOST_PLACE_MOVES = 10_000;
/** A chain of look-ups: with no statistics yet, a plan would read whole tables for the few moves that there are. */
const PLACE_MOVES = `SELECT p.place AS "from", e.place AS "to", e.status, e.owner, e.holder, d.known_from AS position,
    ${MICROS} AS "atMicros"
  FROM place_move p
  CROSS JOIN LATERAL (SELECT * FROM movement_document one WHERE one.known_from = p.position OFFSET 0) d
  CROSS JOIN LATERAL (
    SELECT * FROM item_movement one WHERE one.item = p.place AND one.known_from = p.position OFFSET 0) m
  CROSS JOIN LATERAL (
    SELECT * FROM movement_effect one WHERE one.known_from = m.known_from AND one.effect = m.effect OFFSET 0) e
  WHERE d.known_to IS NULL AND e.result = 'applied'
  ORDER BY d.ordered_at, d.known_from LIMIT ${MOST_PLACE_MOVES + 1}`;

/** The lives of these items, by the documents that count now. */
export async function loadLives(db: Queryable, items: readonly string[]): Promise<Lives> {
  if (items.length === 0) return new Lives([]);
  const named = await db.query<{ item: string; position: bigint; effect: number; ordinal: number }>({
    name: 'pack-state-named-by',
    text: NAMED_BY,
    values: [[...(await withContainers(db, items))]],
  });
  if (named.rows.length === 0) return new Lives([]);
  const positions = [...new Set(named.rows.map(({ position }) => position))];
  const documents = await db.query<DocumentOfLife>(DOCUMENTS, [positions]);
  const effects = await db.query<EntryEffect & { position: bigint; effect: number }>(EFFECTS, [positions]);
  const byPosition = new Map(documents.rows.map((one) => [one.position, ofDocument(one)]));
  const byKey = new Map(effects.rows.map((one) => [`${one.position} ${one.effect}`, one]));
  const entries = named.rows.flatMap(({ item, position, effect, ordinal }): LifeEntry[] => {
    const document = byPosition.get(position);
    const done = byKey.get(`${position} ${effect}`);
    return document === undefined || done === undefined ? [] : [{ item, position, ordinal, effect: done, ...document }];
  });
  const reached = [...new Set(named.rows.map(({ item }) => item))];
  const told = await db.query<Told>(TOLD, [positions, reached]);
  return new Lives(
    entries,
    told.rows.filter(({ position }) => byPosition.get(position)?.isRecalled !== true),
  );
}

/** These items, and every container that any of them was ever in. */
const withContainers = (db: Queryable, items: readonly string[]): Promise<Set<string>> =>
  reachByLevels(items, async (level) => {
    const query = { name: 'pack-state-packed-into', text: PACKED_INTO, values: [level] };
    return (await db.query<{ parent: string }>(query)).rows.map(({ parent }) => parent);
  });

/** What a document of this type leaves open where it cannot be told whether it happened, as bits. */
export const leavesOpen = (docType: number, of: { isInside: boolean }): number =>
  maskOf(leftOpen(docType, { ...of, types: typeKnowledge }));

function ofDocument({ atMicros, docType, subject, counterparty, isRecalled }: DocumentOfLife) {
  const step = typeKnowledge.transferOf(docType);
  return {
    atMicros,
    isRecalled,
    movesNothing: typeKnowledge.movesNothing(docType),
    use: useOf(docType, typeKnowledge),
    leavesOpen: {
      itself: leavesOpen(docType, { isInside: false }),
      inside: leavesOpen(docType, { isInside: true }),
    },
    ...(step === undefined ? {} : { transfer: { step, subject, counterparty } }),
  };
}

/** Every move of a whole place that counts now, in order. */
export async function loadPlaceMoves(db: Queryable): Promise<PlaceMove[]> {
  const { rows } = await db.query<PlaceMove>({ name: 'place-moves', text: PLACE_MOVES });
  if (rows.length > MOST_PLACE_MOVES)
    throw new Error(`more than ${MOST_PLACE_MOVES} documents moved whole places: the state of packs cannot be told`);
  return rows;
}
