import type { Queryable } from '#postgres';
import { PedigreeError } from '#kernel';
import { present } from '../list-page.js';
import { STOCK_PARTS, type Stock, type StockLine, type StockPart, type StockQuery } from '../port.js';
import { loadPlaceMoves } from './load.js';
import { JOIN_STAY, movedByPlaces, PLACE, STATUS, type PackNow, type PackTypes } from './now.js';
import { knownUpTo } from './record-age.js';

/** Lines of one answer: more cannot be read, and a filter makes them fewer. */
const MOST_LINES = 10_000;

/** Status and place of a pack and its stay, and the documents that told them. */
const STANDING = `SELECT left(s.item, 14) AS gtin, s.series, s.expires_on,
    ${STATUS} AS status,
    ${PLACE} AS place,
    coalesce(y.status_from, s.status_from) AS status_from, coalesce(y.place_from, s.place_from) AS place_from
  FROM pack_state s ${JOIN_STAY} WHERE length(s.item) = 27`;

type Counted = Record<StockPart, string | null> & {
  packs: number;
  unknown: number;
  place_from: bigint | null;
  status_from: bigint | null;
};

/**
 * How many packs stand alike. What was moved with its whole place is counted where it came to. `db` reads one snapshot.
 * @throws PedigreeError `too_many_items` above 10,000 lines: filter by place or product then.
 */
export async function stockOf(db: Queryable, query: StockQuery, types: PackTypes): Promise<Stock> {
  const knownAt = await knownUpTo(db);
  const moves = await loadPlaceMoves(db);
  const counted = await count(
    db,
    query,
    moves.map(({ from }) => from),
  );
  const stood = counted.map((one): PackNow & Counted => ({ ...standing(one), ...one }));
  const stand = await movedByPlaces(db, stood, { moves, types });
  const lines = new Map<string, StockLine>();
  let [packs, seriesUnknown] = [0, 0];
  for (const one of stand) {
    if (!isAsked(one, query)) continue;
    packs += one.packs;
    seriesUnknown += one.unknown;
    const line = { ...lineOf(one, query.by), knownAt: String(knownAt) };
    const key = JSON.stringify(line);
    lines.set(key, { ...line, packs: (lines.get(key)?.packs ?? 0) + one.packs });
  }
  return { knownAt: String(knownAt), packs, seriesUnknown, items: [...lines.values()] };
}

const standing = ({ status, place, place_from, status_from }: Counted): PackNow => ({
  ...{ item: '', series: null, expiresOn: null, seriesFrom: null, container: null, toldFrom: 0n },
  ...{ transfer: null, doubtFrom: null, doubts: null },
  ...{ status, place, placeFrom: place_from, statusFrom: status_from },
});

const isAsked = ({ status, place }: PackNow, query: StockQuery): boolean =>
  (query.place === undefined || query.place === place) && (query.status === undefined || query.status === status);

function lineOf(one: PackNow & Counted, by: readonly StockPart[]): Omit<StockLine, 'packs' | 'knownAt'> {
  const { gtin, series, status } = one as Counted;
  const place = one.place === '' ? null : one.place;
  const all = { place, gtin, series, expires_on: null, status };
  const asked = Object.fromEntries(by.map((part) => [part, all[part]]));
  return present({ ...asked, expiresOn: by.includes('expires_on') ? (one as Counted).expires_on : null });
}

/** Where whole places were moved, place and status are asked for when that is followed. */
function conditionsOf(query: StockQuery, value: (one: unknown) => string, hasMoves: boolean): string[] {
  const { gtin, series, expiresBy, place, status } = query;
  const equal = Object.entries({ gtin, series, ...(hasMoves ? {} : { place, status }) });
  return [
    ...equal.flatMap(([name, wanted]) => (wanted === undefined ? [] : [`${name} = ${value(wanted)}`])),
    ...(query.seriesUnknown === true ? ['series IS NULL'] : []),
    ...(expiresBy === undefined ? [] : [`expires_on <= ${value(expiresBy)}::date`]),
  ];
}

/** Counted in one pass over the packs; where whole places were moved, the documents that told are kept apart. */
async function count(db: Queryable, query: StockQuery, movedPlaces: string[]): Promise<Counted[]> {
  const values: unknown[] = [movedPlaces];
  const hasMoves = movedPlaces.length > 0;
  const conditions = conditionsOf(query, (one) => `$${values.push(one)}`, hasMoves);
  const isFiltered = query.place !== undefined || query.status !== undefined;
  const needed = new Set<StockPart>(hasMoves || isFiltered ? [...query.by, 'place', 'status'] : query.by);
  const parts = STOCK_PARTS.map((part) => (needed.has(part) ? part : `NULL::text AS ${part}`));
  const apart = ['place_from', 'status_from'].map(
    (one) => `CASE WHEN place = ANY ($1::text[]) THEN ${one} END AS ${one}`,
  );
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const groups = [...STOCK_PARTS, 'place_from', 'status_from'].map((_, n) => n + 1).join(', ');
  const { rows } = await db.query<Counted>(
    `SELECT ${[...parts, ...apart].join(', ')}, count(*)::int AS packs,
       count(*) FILTER (WHERE series_is_unknown)::int AS unknown
     FROM (SELECT *, series IS NULL AS series_is_unknown FROM (${STANDING}) AS pack) AS pack ${where}
     GROUP BY ${groups} ORDER BY ${groups} LIMIT ${MOST_LINES + 1}`,
    values,
  );
  if (rows.length > MOST_LINES)
    throw new PedigreeError('too_many_items', `the answer has more than ${MOST_LINES} lines: filter by place or gtin`, {
      field: 'by',
    });
  return rows;
}
