import type { Queryable } from '#postgres';
import { PedigreeError } from '#kernel';
import { present } from '../list-page.js';
import { STOCK_PARTS, type Stock, type StockLine, type StockPart, type StockQuery } from '../port.js';
import { loadPlaceMoves } from './load.js';
import type { PlaceMove } from './fold.js';
import {
  groupsMoved,
  JOIN_STAY,
  movesAsked,
  nextMove,
  PLACE,
  placesLeadingTo,
  STATUS,
  type PackNow,
  type PackTypes,
} from './now.js';
import { knownUpTo } from './record-age.js';

/** Lines of one answer: more cannot be read, and a filter makes them fewer. */
const MOST_LINES = 10_000;

/** Status and place of a pack and its stay. $1 to $3: moves of whole places. */
const STANDING = `SELECT left(s.item, 14) AS gtin, s.series, s.expires_on,
    ${STATUS} AS status,
    ${PLACE} AS place,
    ${nextMove(['$1', '$2', '$3'])} AS next_move
  FROM pack_state s ${JOIN_STAY} WHERE length(s.item) = 27`;

type Counted = Record<StockPart, string | null> & { packs: number; unknown: number; nextMove: number | null };

/**
 * How many packs stand alike. What was moved with its whole place is counted where it came to. `db` reads one snapshot.
 * @throws PedigreeError `too_many_items` above 10,000 lines: filter by place or product then.
 */
export async function stockOf(
  db: Queryable,
  query: StockQuery,
  { types, mostLines = MOST_LINES }: { types: PackTypes; mostLines?: number },
): Promise<Stock> {
  const knownAt = await knownUpTo(db);
  const moves = await loadPlaceMoves(db);
  const counted = await count(db, query, { moves, mostLines });
  const stand = groupsMoved(
    counted.map((one): PackNow & Counted => ({ ...NOTHING_ELSE, ...one })),
    { moves, types },
  );
  const lines = new Map<string, StockLine>();
  let [packs, seriesUnknown] = [0, 0];
  for (const one of stand) {
    if (query.place !== undefined && one.place !== query.place) continue;
    packs += one.packs;
    seriesUnknown += one.unknown;
    const line = { ...lineOf(one, query.by), knownAt: String(knownAt) };
    const key = JSON.stringify(line);
    lines.set(key, { ...line, packs: (lines.get(key)?.packs ?? 0) + one.packs });
  }
  return { knownAt: String(knownAt), packs, seriesUnknown, items: [...lines.values()] };
}

const NOTHING_ELSE = {
  ...{ item: '', expiresOn: null, seriesFrom: null, container: null, toldFrom: 0n, transfer: null },
  ...{ statusFrom: null, placeFrom: null, doubtFrom: null, doubts: null },
};

function lineOf(one: PackNow & Counted, by: readonly StockPart[]): Omit<StockLine, 'packs' | 'knownAt'> {
  const { gtin, series, status } = one as Counted;
  const place = one.place === '' ? null : one.place;
  const all = { place, gtin, series, expires_on: null, status };
  const asked = Object.fromEntries(by.map((part) => [part, all[part]]));
  return present({ ...asked, expiresOn: by.includes('expires_on') ? (one as Counted).expires_on : null });
}

/** At this place, or what a move of a whole place may have brought there. */
const atPlace = (place: string, moves: readonly PlaceMove[], value: (one: unknown) => string): string =>
  `place = ANY (${value(placesLeadingTo([place], moves))}::text[])
    AND (place = ${value(place)} OR next_move IS NOT NULL)`;

function conditionsOf(query: StockQuery, value: (one: unknown) => string, moves: readonly PlaceMove[]): string[] {
  const { gtin, series, expiresBy, place, status } = query;
  const equal = Object.entries({ gtin, series, status });
  return [
    ...equal.flatMap(([name, wanted]) => (wanted === undefined ? [] : [`${name} = ${value(wanted)}`])),
    ...(place === undefined ? [] : [atPlace(place, moves, value)]),
    ...(query.seriesUnknown === true ? ['series IS NULL'] : []),
    ...(expiresBy === undefined ? [] : [`expires_on <= ${value(expiresBy)}::date`]),
  ];
}

/** What of a part that is not asked for is needed all the same. */
const UNASKED: Partial<Record<StockPart, string>> = { place: 'CASE WHEN next_move IS NOT NULL THEN place END' };

/** Counted in one pass over the packs; what goes with a move of its whole place is kept apart, with its place. */
async function count(
  db: Queryable,
  query: StockQuery,
  { moves, mostLines }: { moves: readonly PlaceMove[]; mostLines: number },
): Promise<Counted[]> {
  const values: unknown[] = movesAsked(moves);
  const conditions = conditionsOf(query, (one) => `$${values.push(one)}`, moves);
  const needed = new Set<StockPart>(query.place === undefined ? query.by : [...query.by, 'place']);
  const parts = STOCK_PARTS.map((part) => (needed.has(part) ? part : `${UNASKED[part] ?? 'NULL::text'} AS ${part}`));
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const groups = [...STOCK_PARTS, 'next_move'].map((_, n) => n + 1).join(', ');
  const { rows } = await db.query<Counted>(
    `SELECT ${parts.join(', ')}, next_move AS "nextMove", count(*)::int AS packs,
       count(*) FILTER (WHERE series_is_unknown)::int AS unknown
     FROM (SELECT *, series IS NULL AS series_is_unknown FROM (${STANDING}) AS pack) AS pack ${where}
     GROUP BY ${groups} ORDER BY ${groups} LIMIT ${mostLines + 1}`,
    values,
  );
  if (rows.length > mostLines)
    throw new PedigreeError('too_many_items', `the answer has more than ${mostLines} lines: filter by place or gtin`, {
      field: 'by',
    });
  return rows;
}
