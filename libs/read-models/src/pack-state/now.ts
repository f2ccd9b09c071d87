import type { TypeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import { movedWithPlace, standingNow, type PlaceMove, type StandingNow } from './fold.js';
import { loadPlaceMoves, MICROS } from './load.js';
import { compare, type Moment } from './lives.js';
import { PACK_STATE, PACK_STAY, type PackStateRow, type PackStayRow } from './row.js';

type Types = Pick<TypeKnowledge, 'statusAfter'>;
/** What questions about packs want to know of document types. */
export type PackTypes = Pick<TypeKnowledge, 'statusAfter' | 'titleOf'>;

/** One item as it stands now. */
export type PackNow = StandingNow & Pick<PackStateRow, 'item' | 'series' | 'expiresOn' | 'seriesFrom'>;

/** Rows of items with their stays, as a query gives them. */
export type StateAndStay = PackStateRow & { stay: string | null };

const OF_STAY = ['movedFrom', 'statusFrom', 'placeFrom', 'doubtFrom', 'endedPosition'] as const;
const AS_THEY_ARE = ['status', 'transfer', 'pausedStatus', 'place', 'doubts', 'told'] as const;

/** What a statement selects of pack_state (s) and pack_stay (y) for `nowOf`. */
export const SELECT_NOW = `${PACK_STATE.select({ of: 's' })}, CASE WHEN y.container IS NOT NULL THEN jsonb_build_object(
  ${OF_STAY.map((one) => `'${one}', y.${PACK_STAY.nameOf(one)}::text`).join(', ')},
  ${AS_THEY_ARE.map((one) => `'${one}', y.${PACK_STAY.nameOf(one)}`).join(', ')})::text END AS stay`;
export const JOIN_STAY = 'LEFT JOIN pack_stay y ON y.container = s.container AND y.position = s.position';
/** The status and the place of a pack: by its stay where that says them, else by its own row. */
export const STATUS =
  'CASE WHEN y.status_from IS NULL THEN s.status WHEN s.suspended THEN y.paused_status ELSE y.status END';
export const PLACE = 'CASE WHEN y.place_from IS NULL THEN s.place ELSE y.place END';

/** How these rows stand now, in their order. */
export async function nowOf(db: Queryable, rows: readonly StateAndStay[], types: Types): Promise<PackNow[]> {
  const standing = rows.map((row): PackNow => {
    const { item, series, expiresOn, seriesFrom } = row;
    return { item, series, expiresOn, seriesFrom, ...standingNow(row, stayIn(row)) };
  });
  const moves = await loadPlaceMoves(db);
  return moves.length === 0 ? standing : movedByPlaces(db, standing, { moves, types });
}

function stayIn({ stay, container, position, atMicros }: StateAndStay): PackStayRow | undefined {
  if (stay === null) return undefined;
  const read = JSON.parse(stay) as Record<string, string | number | null>;
  const positionIn = (text: string | number | null | undefined): bigint | null =>
    typeof text === 'string' ? BigInt(text) : null;
  const positions = Object.fromEntries(OF_STAY.map((one) => [one, positionIn(read[one])]));
  const others = Object.fromEntries(AS_THEY_ARE.map((one) => [one, read[one]]));
  return {
    ...PACK_STAY.nulls,
    container: container as string,
    position,
    atMicros,
    ...positions,
    ...others,
  } as PackStayRow;
}

const MOMENTS = `SELECT d.known_from AS position, ${MICROS} AS "atMicros"
  FROM movement_document d WHERE d.known_from = ANY ($1::bigint[])`;

/** Moves of whole places that came after what else is known of each item. */
export async function movedByPlaces<Pack extends StandingNow>(
  db: Queryable,
  packs: Pack[],
  { moves, types }: { moves: readonly PlaceMove[]; types: Types },
): Promise<Pack[]> {
  const from = new Set(moves.map((move) => move.from));
  const touched = packs.filter(({ place }) => place !== null && from.has(place));
  if (touched.length === 0) return packs;
  const positions = new Set(
    touched.flatMap(({ placeFrom, statusFrom, doubtFrom, toldFrom }) => [placeFrom, statusFrom, doubtFrom, toldFrom]),
  );
  const told = await db.query<Moment>(MOMENTS, [[...positions].filter((one) => one !== null)]);
  const moments = new Map([...told.rows, ...moves].map((one) => [one.position, one]));
  return packs.map((pack) => moves.reduce((so, move) => movedAfter(so, move, { moments, types }), pack));
}

function movedAfter<Pack extends StandingNow>(
  pack: Pack,
  move: PlaceMove,
  { moments, types }: { moments: Map<bigint, Moment>; types: Types },
): Pack {
  const isAfter = (position: bigint | null): boolean => {
    const moment = position === null ? undefined : moments.get(position);
    return moment === undefined || compare(move, moment) > 0;
  };
  if (pack.place !== move.from || !isAfter(pack.placeFrom)) return pack;
  const after = movedWithPlace(pack, { ...move, status: isAfter(pack.statusFrom) ? move.status : null }, types);
  // What was left open after it is open, and with it what was before.
  const doubts = isAfter(pack.doubtFrom) ? {} : { doubts: pack.doubts, doubtFrom: pack.doubtFrom };
  return { ...pack, ...after, ...doubts, toldFrom: isAfter(pack.toldFrom) ? move.position : pack.toldFrom };
}

const OF_ITEMS = `SELECT ${SELECT_NOW} FROM pack_state s ${JOIN_STAY}
  WHERE s.item = ANY ($1::text[]) ORDER BY s.item`;

/** These items as they stand now; those that nothing has moved are left out. */
export async function packsNow(db: Queryable, items: readonly string[], types: Types): Promise<PackNow[]> {
  const { rows } = await db.query<StateAndStay>({ name: 'packs-now', text: OF_ITEMS, values: [items] });
  return nowOf(db, rows, types);
}
