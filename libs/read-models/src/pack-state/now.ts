import { typeKnowledge, type TypeKnowledge } from '#documents';
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

const MOMENT_OF_STAY = `(SELECT ${MICROS} FROM movement_document d WHERE d.known_from = y.moved_from)`;
/**
 * Of a pack: the number of the first move of its whole place that came after all else that is known of it and took it
 * along, from 1 on in the order of the moves; else NULL. `moves`: the parameters that `movesAsked` fills.
 */
export const nextMove = ([from, at, position]: readonly [string, string, string]): string => `CASE
  WHEN ${PLACE} = ANY (${from}::text[]) AND coalesce(s.transfer, y.transfer) IS NULL
    AND coalesce(${STATUS} IN (${typeKnowledge.lying.map((one) => `'${one}'`).join(', ')}), true)
  THEN (SELECT min(m.n)::int
    FROM unnest(${from}::text[], ${at}::bigint[], ${position}::bigint[]) WITH ORDINALITY AS m (place, at, position, n)
    WHERE m.place = ${PLACE} AND (m.at, m.position) > (CASE WHEN y.moved_from IS NULL THEN s.at_micros
      ELSE ${MOMENT_OF_STAY} END, coalesce(y.moved_from, s.position))) END`;
export const movesAsked = (moves: readonly PlaceMove[]): [string[], bigint[], bigint[]] => [
  moves.map(({ from }) => from),
  moves.map(({ atMicros }) => atMicros),
  moves.map(({ position }) => position),
];

/** Places from which moves of whole places lead to one of these, themselves included. */
export function placesLeadingTo(wanted: readonly string[], moves: readonly PlaceMove[]): string[] {
  const places = new Set(wanted);
  for (const one of places) for (const { from, to } of moves) if (to === one) places.add(from);
  return [...places];
}

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

type Moves = { moves: readonly PlaceMove[]; types: Types };

/** Moves of whole places that came after what else is known of each item. */
async function movedByPlaces(db: Queryable, packs: PackNow[], { moves, types }: Moves): Promise<PackNow[]> {
  const from = new Set(moves.map((move) => move.from));
  const touched = packs.filter(({ place }) => place !== null && from.has(place));
  if (touched.length === 0) return packs;
  const told = await db.query<Moment>(MOMENTS, [[...new Set(touched.map(({ toldFrom }) => toldFrom))]]);
  const moments = new Map(told.rows.map((one) => [one.position, one]));
  return packs.map((pack) => {
    const moment = moments.get(pack.toldFrom);
    const later = moment === undefined ? [] : moves.filter((move) => compare(move, moment) > 0);
    return later.reduce((so, move) => movedBy(so, move, types), pack);
  });
}

function movedBy<Pack extends StandingNow>(pack: Pack, move: PlaceMove, types: Types): Pack {
  const after = movedWithPlace(pack, move, types);
  return after === pack ? pack : { ...pack, ...after, toldFrom: move.position };
}

/** Packs that stand alike, as they stand now. What `nextMove` takes along is in no transfer. */
export const groupsMoved = <Group extends StandingNow & { nextMove: number | null }>(
  groups: readonly Group[],
  { moves, types }: Moves,
): Group[] =>
  groups.map((group) =>
    group.nextMove === null
      ? group
      : moves.slice(group.nextMove - 1).reduce((so, move) => movedBy(so, move, types), { ...group, transfer: null }),
  );

const OF_ITEMS = `SELECT ${SELECT_NOW} FROM pack_state s ${JOIN_STAY}
  WHERE s.item = ANY ($1::text[]) ORDER BY s.item`;

/** These items as they stand now; those that nothing has moved are left out. */
export async function packsNow(db: Queryable, items: readonly string[], types: Types): Promise<PackNow[]> {
  const { rows } = await db.query<StateAndStay>({ name: 'packs-now', text: OF_ITEMS, values: [items] });
  return nowOf(db, rows, types);
}
