import { ANSWER_ABOUT_CONTAINER, typeKnowledge, type TypeKnowledge } from '#documents';
import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import type { ContainmentChange, Moment } from './containment.js';
import { namedOperations } from './recalls.js';
import {
  isInOurName,
  MOVEMENT_DOCUMENT,
  MOVEMENT_EFFECT,
  type MovementDocument,
  type MovementEffectRow,
} from './row.js';

/** What of the record an answer stands on. */
export interface Known {
  /** Documents known at this log position. */
  knownAt: bigint;
  /** Documents accepted by this moment. */
  asOf: Date | 'infinity';
}

export const NOW: Known = { knownAt: 9_223_372_036_854_775_807n, asOf: 'infinity' };

/** Rows of one answer; real packs have tens, and a container of 25,000 packs some 200,000. */
const MOST_ROWS = 1_000_000;

export const OF_DOCUMENT = [
  'knownFrom',
  'requestId',
  'channel',
  'docType',
  'subjectId',
  'counterpartyId',
  'operationDate',
  'acceptedAt',
  'documentSha256',
  'receiptSha256',
] as const satisfies (keyof MovementDocument)[];
const OF_EFFECT = [
  'result',
  'errorCode',
  'errorText',
  'status',
  'place',
  'containment',
  'container',
  'corrects',
  'owner',
  'holder',
  'part',
  'series',
  'expiry',
  'funding',
  'lots',
] as const satisfies (keyof MovementEffectRow)[];

/**
 * $2 known at, $3 as of: the documents that count. What was accepted at a moment counts as of it as it is shown,
 * in milliseconds: not `ordered_at`, which for a document of a list is the end of its second.
 */
export const COUNTS = `d.known_from <= $2 AND (d.known_to IS NULL OR d.known_to > $2)
    AND coalesce(date_trunc('milliseconds', d.accepted_at), d.ordered_at) <= $3`;

/**
 * Items (`named`) with every container that any of them, or a container of them, was ever packed into: each once.
 * OFFSET 0 here and below keeps the order of the joins: few items, and for each row one look into each index. A planner
 * that knows no parameters yet would read whole tables instead.
 */
const reachableFrom = (named: string): string => `WITH RECURSIVE reachable AS (
    ${named}
    UNION
    SELECT c.parent FROM reachable r CROSS JOIN LATERAL (
      SELECT parent FROM containment WHERE child = r.item AND known_from <= $2 OFFSET 0
    ) c
  )`;

/** What documents did to the items of `named`. */
const changesOf = (named: string): string => `
  FROM ${named}
  CROSS JOIN LATERAL (SELECT * FROM item_movement WHERE item = named.item AND known_from <= $2 OFFSET 0) m
  CROSS JOIN LATERAL (SELECT * FROM movement_document d WHERE d.known_from = m.known_from AND ${COUNTS} OFFSET 0) d
  CROSS JOIN LATERAL (
    SELECT * FROM movement_effect WHERE known_from = m.known_from AND effect = m.effect OFFSET 0
  ) e`;

/** Since 1970, whole. */
export const microsOf = (moment: string): string => `(extract(epoch FROM ${moment}) * 1000000)::bigint`;
const momentOf = (ordered: string): string => `${microsOf(ordered)} AS at, d.known_from AS position`;
const MOMENT = momentOf('d.ordered_at');
/** Under which id the registry took a document of ours. */
const TAKEN_AS = `LEFT JOIN LATERAL (
    SELECT document_id FROM sent_document WHERE request_id = d.request_id AND d.document_id IS NULL OFFSET 0
  ) s ON true`;

/** The depth stands in the row from the start: a property added to so wide a row later costs more than all the rest. */
const MOVEMENT = `SELECT m.item, 0 AS depth, m.ordinal, ${MOMENT}, d.operation_at AS "operationAt",
    coalesce(d.document_id, s.document_id) AS "documentId",
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })},
    ${MOVEMENT_EFFECT.select({ of: 'e', only: OF_EFFECT })}`;

/** Of series that a document tells of item $1 and moves it not. A query only names what its answer tells of. */
const IS_TOLD_ALONE = `t.item = $1 AND t.position <= $2
    AND NOT EXISTS (SELECT FROM item_movement m JOIN movement_document o USING (known_from)
      WHERE m.item = t.item AND m.known_from = t.position
        AND o.doc_type NOT IN (${typeKnowledge.movingNothing.join(', ')}))`;

/**
 * Three flags spare the usual life further questions: whether a row names a place of which all was moved once, whether
 * a recall names its document, and whether a document tells of the item without moving it. One item is no array of one:
 * of an array a planner expects a hundred, and plans anew each time.
 */
const LIFE = `${reachableFrom('SELECT $1::text COLLATE "C" AS item')} ${MOVEMENT},
    e.place IN (SELECT place FROM place_move) OR d.subject_id IN (SELECT place FROM place_move)
      OR coalesce(d.counterparty_id IN (SELECT place FROM place_move), false) AS "namesMovedPlace",
    EXISTS (SELECT FROM movement_document r
      WHERE r.recalls IN (d.request_id, coalesce(d.document_id, s.document_id)) AND r.recalls <> '') AS "isRecallNamed",
    EXISTS (SELECT FROM series_told t WHERE ${IS_TOLD_ALONE}) AS "isToldAlone"
  ${changesOf('reachable AS named')} ${TAKEN_AS}`;
const OF_PLACES = `${MOVEMENT} ${changesOf('unnest($1::text[]) AS named (item)')} ${TAKEN_AS}`;
const CONTAINMENT_CHANGES = `${reachableFrom('SELECT item COLLATE "C" AS item FROM unnest($1::text[]) AS named (item)')}
  SELECT m.item, m.ordinal, ${MOMENT}, d.operation_at AS "operationAt", d.doc_type AS "docType", e.containment,
    e.container
  ${changesOf('reachable AS named')} WHERE e.containment IS NOT NULL
  LIMIT ${MOST_ROWS + 1}`;

const HEARD_OF = `SELECT EXISTS (SELECT FROM item_movement WHERE item = $1 AND known_from <= $2)
  OR EXISTS (SELECT FROM containment WHERE parent = $1 AND known_from <= $2) AS heard`;

/** NULL is `null` as it is read, and an instant a Date. */
type Read<T> = { [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };

/** What one document did to one item: of the pack itself, of a container, or of a place. */
export type LifeRow = Moment & {
  item: string;
  ordinal: number;
  operationAt: Date | null;
  documentId: string | null;
  acceptedAt: Date | null;
} & Read<Pick<MovementDocument, Exclude<(typeof OF_DOCUMENT)[number], 'acceptedAt'>>> &
  Read<Pick<MovementEffectRow, (typeof OF_EFFECT)[number]>>;

/** What documents did to an item, and to every container that it was ever in, and whether more is to be asked. */
export interface ReadLife {
  rows: LifeRow[];
  namesMovedPlace: boolean;
  isRecallNamed: boolean;
  isToldAlone: boolean;
}

type FlaggedRow = LifeRow & { namesMovedPlace: boolean | null; isRecallNamed: boolean; isToldAlone: boolean };

/** However deep the containers lay. */
export async function readLife(db: Queryable, item: string, { knownAt, asOf }: Known): Promise<ReadLife> {
  const { rows } = await db.query<FlaggedRow>({ name: 'life-rows', text: LIFE, values: [item, knownAt, asOf] });
  return {
    rows,
    namesMovedPlace: rows.some((row) => row.namesMovedPlace === true),
    isRecallNamed: rows.some((row) => row.isRecallNamed),
    isToldAlone: rows.some((row) => row.isToldAlone),
  };
}

/** Moves of whole places that follow from one another are looked for so often. */
const MOST_PLACE_MOVES = 8;

/**
 * What moved all that a place held, for each place that these rows name, to which a transfer may lead back, and to
 * which those moves lead.
 */
export async function readPlaceMoves(
  db: Queryable,
  life: readonly LifeRow[],
  { known, types }: { known: Known; types: Pick<TypeKnowledge, 'transferOf'> },
): Promise<LifeRow[]> {
  const asked = new Set<string>();
  const found: LifeRow[] = [];
  let newest: readonly LifeRow[] = life;
  for (let round = 0; round <= MOST_PLACE_MOVES; round += 1) {
    const come = new Set(newest.flatMap((row) => placesOf(row, types)));
    const places = [...come].filter((place) => place !== '' && !asked.has(place));
    if (places.length === 0) break;
    for (const place of places) asked.add(place);
    const values = [places, known.knownAt, known.asOf];
    newest = (await db.query<LifeRow>({ name: 'life-of-places', text: OF_PLACES, values })).rows;
    found.push(...newest);
  }
  return found;
}

const placesOf = (row: LifeRow, { transferOf }: Pick<TypeKnowledge, 'transferOf'>): string[] =>
  transferOf(row.docType) === undefined
    ? [row.place ?? '']
    : [row.place ?? '', row.subjectId, row.counterpartyId ?? ''];

/**
 * The place of a recall in the order, in SQL: last within its second. It comes after what it recalls, also where a list
 * told of that, which counts last within its second, too.
 */
export const orderOfRecall = (orderedAt: string): string =>
  `date_trunc('second', ${orderedAt}) + INTERVAL '999999 microseconds'`;

/** $1: ids of operations, as documents name them. */
const RECALLS = `SELECT '' AS item, 0::smallint AS ordinal, ${momentOf(orderOfRecall('d.ordered_at'))},
    d.operation_at AS "operationAt", d.recalls,
    coalesce(d.document_id, s.document_id) AS "documentId", 'applied' AS result, d.recalls AS corrects,
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM movement_document d ${TAKEN_AS}
  WHERE d.recalls = ANY($1::text[]) AND d.outcome IN ('accepted', 'partial') AND ${COUNTS}`;

/** Of a row that tells of a document, and of no item. */
const NO_EFFECT = Object.fromEntries(OF_EFFECT.map((property) => [property, null]));

/** A document that makes earlier ones (`recalled`, their log positions) as if they had not been. */
export type RecallRow = LifeRow & { recalled: bigint[] };

/** The recalls of these movements. */
export async function readRecalls(
  db: Queryable,
  rows: readonly LifeRow[],
  { known, types }: { known: Known; types: Pick<TypeKnowledge, 'isRecallable'> },
): Promise<RecallRow[]> {
  const operations = namedOperations(
    rows.flatMap(({ docType, requestId, documentId, channel, position: at }) =>
      types.isRecallable(docType) ? [{ requestId, documentId, isOurs: isInOurName(channel), at }] : [],
    ),
  );
  if (operations.size === 0) return [];
  const values = [[...operations.keys()], known.knownAt, known.asOf];
  const found = await db.query<LifeRow & { recalls: string }>({ name: 'recalls', text: RECALLS, values });
  return found.rows.map((row) => ({ ...NO_EFFECT, ...row, recalled: [...(operations.get(row.recalls) ?? [])] }));
}

/** $1: the container. One row for each document that packed into it, or told that it holds something. */
const PACKINGS = `SELECT $1::text AS item, 0::smallint AS ordinal, ${MOMENT}, d.operation_at AS "operationAt",
    coalesce(d.document_id, s.document_id) AS "documentId", 'applied' AS result,
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM (SELECT DISTINCT known_from FROM containment WHERE parent = $1) p
  JOIN movement_document d ON d.known_from = p.known_from AND ${COUNTS} ${TAKEN_AS}`;

/** The documents that packed something into a container. */
export async function readPackings(db: Queryable, sscc: string, { knownAt, asOf }: Known): Promise<LifeRow[]> {
  const { rows } = await db.query<LifeRow>({ name: 'packings', text: PACKINGS, values: [sscc, knownAt, asOf] });
  return rows.map((row) => ({ ...NO_EFFECT, ...row }));
}

/** Tells of an item, and is no movement of its life. */
export type ToldRow = LifeRow & { isTold: true };

const TOLD_ALONE = `SELECT t.item, t.ordinal, ${MOMENT}, d.operation_at AS "operationAt",
    coalesce(d.document_id, s.document_id) AS "documentId", 'applied' AS result, t.series,
    to_char(t.expires_on, 'YYYY-MM-DD') AS expiry, ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM series_told t JOIN movement_document d ON d.known_from = t.position AND ${COUNTS} ${TAKEN_AS}
  WHERE ${IS_TOLD_ALONE} AND d.outcome IN ('accepted', 'partial')`;

/** What documents that do not move an item tell of its series and expiry. */
export async function readToldAlone(db: Queryable, item: string, { knownAt, asOf }: Known): Promise<ToldRow[]> {
  const { rows } = await db.query<LifeRow>({ name: 'told-alone', text: TOLD_ALONE, values: [item, knownAt, asOf] });
  return rows.map((row) => ({ ...NO_EFFECT, ...row, isTold: true }));
}

const UNDATED = 'SELECT EXISTS (SELECT FROM movement_document WHERE recorded_at IS NULL) AS undated';
const KNOWN_AT = `SELECT greatest(
    (SELECT known_from FROM movement_document WHERE recorded_at <= $1
      ORDER BY recorded_at DESC, known_from DESC LIMIT 1),
    (SELECT known_to FROM movement_document WHERE closed_at <= $1 ORDER BY closed_at DESC, known_to DESC LIMIT 1)
  ) AS position`;

/**
 * The log position of the last movement that was recorded, or turned out to be ours, by this moment; 0 when there was
 * none.
 * @throws PedigreeError `invalid_parameter` while rows of an older version have no moment.
 */
export async function positionAt(db: Queryable, moment: Date): Promise<bigint> {
  const { rows: undated } = await db.query<{ undated: boolean }>({ name: 'undated', text: UNDATED });
  if (undated[0]?.undated === true)
    throw new PedigreeError(
      'invalid_parameter',
      'movements of before an update do not say when they became known until sgtin-history is rebuilt; ' +
        'give a log position',
      { field: 'known_at' },
    );
  const { rows } = await db.query<{ position: bigint | null }>({
    name: 'position-at',
    text: KNOWN_AT,
    values: [moment],
  });
  return rows[0]?.position ?? 0n;
}

/** Whether by then any document, also one that no longer counts, had named the item, or packed something into it. */
export async function hasHeardOf(db: Queryable, item: string, { knownAt }: Known): Promise<boolean> {
  const { rows } = await db.query<{ heard: boolean }>({ name: 'heard-of', text: HEARD_OF, values: [item, knownAt] });
  return rows[0]?.heard === true;
}

type ChangeRow = Pick<
  LifeRow,
  'item' | 'ordinal' | 'at' | 'position' | 'operationAt' | 'docType' | 'containment' | 'container'
>;

/**
 * The changes of containment of these items, and of every container that any of them was ever in.
 * @throws PedigreeError `too_many_items` above a million.
 */
export async function readContainmentChanges(
  db: Queryable,
  items: readonly string[],
  { known, types }: { known: Known; types: Pick<TypeKnowledge, 'extracts'> },
): Promise<ContainmentChange[]> {
  const values = [items, known.knownAt, known.asOf];
  const { rows } = await db.query<ChangeRow>({ name: 'containment-changes', text: CONTAINMENT_CHANGES, values });
  if (rows.length > MOST_ROWS)
    throw new PedigreeError(
      'too_many_items',
      `documents moved what these containers hold more than ${MOST_ROWS} times; ask for a container inside`,
      {},
    );
  return changesIn(rows, types);
}

/** The changes of containment among rows. */
export function changesIn(
  rows: readonly ChangeRow[],
  { extracts }: Pick<TypeKnowledge, 'extracts'>,
): ContainmentChange[] {
  return rows.flatMap(({ item, ordinal, at, position, operationAt, docType, containment, container }) => {
    if (containment === null) return [];
    const kind = containment === 'taken_out' && extracts(docType) ? 'extracted' : containment;
    const claimedMs = operationAt?.getTime();
    const isAnswer = docType === ANSWER_ABOUT_CONTAINER ? { isAnswer: true as const } : {};
    return [
      { item, ordinal, at, position, kind, claimedMs, ...isAnswer, ...(container === null ? {} : { container }) },
    ];
  });
}
