import { invalidParameter, isUuid, splitSgtin } from '#kernel';
import type { Queryable } from '#postgres';
import { foreignCursor, pageLimit, present } from '../list-page.js';
import type { PackListQuery, PackSummary, Page, TellingDocument } from '../port.js';
import { waysToUs } from './ever-ours.js';
import type { PlaceMove } from './fold.js';
import { loadPlaceMoves } from './load.js';
import {
  JOIN_STAY,
  nowOf,
  PLACE,
  placesLeadingTo,
  SELECT_NOW,
  STATUS,
  type PackNow,
  type PackTypes,
  type StateAndStay,
} from './now.js';
import { ownPlaces } from './own-places.js';
import { fateOf } from './series-file.js';
import { tellers } from './tellers.js';

/** Rows looked at for one page where moves of whole places must be followed row by row. */
const MOST_BATCHES = 50;

/** Where a list goes on. Opaque to callers. */
const writeCursor = (item: string): string => Buffer.from(`p1:${item}`).toString('base64url');

function readCursor(cursor: string): string {
  const item = /^p1:(\d{14}[A-Za-z0-9]{13})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (item === undefined || writeCursor(item) !== cursor) throw foreignCursor();
  return item;
}

/**
 * One page of packs as they stand now, by SGTIN. A page may hold fewer than asked for, and still name the next one.
 * @throws PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listPacks(db: Queryable, query: PackListQuery, types: PackTypes): Promise<Page<PackSummary>> {
  const limit = pageLimit(query.limit);
  if (query.document !== undefined) await mustBeDocument(db, query.document);
  const moves = await loadPlaceMoves(db);
  const own = query.received === undefined && query.fates === undefined ? undefined : await ownPlaces(db);
  const found: PackNow[] = [];
  let after = query.cursor === undefined ? '' : readCursor(query.cursor);
  let isWhole = false;
  for (let batch = 0; batch < MOST_BATCHES && found.length < limit && !isWhole; batch += 1) {
    const rows = await candidates(db, { ...query, after, limit: limit + 1 - found.length }, moves);
    isWhole = rows.length <= limit - found.length;
    const taken = rows.slice(0, limit - found.length);
    const standing = (await nowOf(db, taken, types)).filter((pack) => stands(pack, query));
    found.push(...(own === undefined ? standing : await asReceived(db, standing, { ...query, own, types })));
    after = taken.at(-1)?.item ?? after;
  }
  return {
    items: await packsTold(db, found, types),
    ...(isWhole ? {} : { nextCursor: writeCursor(after) }),
  };
}

const stands = ({ status, place }: PackNow, query: PackListQuery): boolean =>
  (query.status === undefined || status === query.status) && (query.place === undefined || place === query.place);

/** Of these packs those that were ever ours (`received`), or that were not, and of which one of these fates became. */
async function asReceived(
  db: Queryable,
  packs: PackNow[],
  { received, fates, ...ours }: Pick<PackListQuery, 'received' | 'fates'> & Parameters<typeof waysToUs>[2],
): Promise<PackNow[]> {
  if (packs.length === 0) return packs;
  const { isNew, isRefused } = await waysToUs(
    db,
    packs.map(({ item }) => item),
    ours,
  );
  return packs.filter((pack) => {
    const came = { isNew: isNew.has(pack.item), isRefused: isRefused.has(pack.item) };
    if (received !== undefined && came.isNew === received) return false;
    return fates === undefined || fates.includes(fateOf({ ...pack, ...came }, ours.own));
  });
}

type Candidates = PackListQuery & { after: string; limit: number };

/**
 * Status and place by the stay where that says them, else by the pack's own row: each way has an index that gives the
 * packs in their order. A bare IS NULL would keep the planner from it: it takes the columns' share of NULL for that of
 * packs, of which most have no stay, expects next to no row, and sorts all. Proven in list-costs.int.spec.ts.
 */
const OWN_PLACE = 'coalesce(y.place_from IS NULL, true) AND s.place = $place';
const STAY_PLACE = 'y.place = $place';
const OWN_STATUS = 'coalesce(y.status_from IS NULL, true) AND s.status = $status';
const STAY_STATUS = 'NOT s.suspended AND y.status = $status';
const PAUSED_STATUS = 's.suspended AND y.paused_status = $status';

const FROM_PACKS = `FROM pack_state s ${JOIN_STAY}`;
const FROM_STAYS = 'FROM pack_stay y JOIN pack_state s ON s.container = y.container AND s.position = y.position';

/** Packs that may be meant, in order. What was moved with its whole place since is looked at row by row. */
async function candidates(db: Queryable, query: Candidates, moves: readonly PlaceMove[]): Promise<StateAndStay[]> {
  const values: unknown[] = [];
  const value = (one: unknown): string => `$${values.push(one)}`;
  const common = commonConditions(query, value);
  const place = query.place === undefined ? undefined : placesIn(placesLeadingTo([query.place], moves), value);
  const status = query.status === undefined ? undefined : value(query.status);
  const filled = (text: string): string =>
    text.replace('$place', () => String(place)).replace('$status', () => String(status));
  const statuses = `(${[OWN_STATUS, STAY_STATUS, PAUSED_STATUS].map((one) => `(${filled(one)})`).join(' OR ')})`;
  const rest = [...common, ...(status === undefined || place === undefined ? [] : [statuses])];
  const ways = waysOf({ place, status }).map(({ from, where }) => [from, [...where.map(filled), ...rest]] as const);
  const limit = value(query.limit);
  const parts = ways.map(
    ([from, where]) => `(SELECT ${SELECT_NOW} ${from} WHERE ${where.join(' AND ')} ORDER BY s.item LIMIT ${limit})`,
  );
  const text = `SELECT * FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY item LIMIT ${limit}`;
  return (await db.query<StateAndStay>(text, values)).rows;
}

interface Way {
  from: string;
  where: string[];
}

function waysOf({ place, status }: { place: string | undefined; status: string | undefined }): Way[] {
  if (place !== undefined)
    return [
      { from: FROM_PACKS, where: [OWN_PLACE] },
      { from: FROM_STAYS, where: [STAY_PLACE] },
    ];
  if (status === undefined) return [{ from: FROM_PACKS, where: [] }];
  return [
    { from: FROM_PACKS, where: [OWN_STATUS] },
    { from: FROM_STAYS, where: [STAY_STATUS] },
    { from: FROM_PACKS, where: [PAUSED_STATUS] },
  ];
}

/** With one place alone the index gives the packs in their order. */
const placesIn = (places: string[], value: (one: unknown) => string): string =>
  places.length === 1 ? value(places[0]) : `ANY (${value(places)}::text[])`;

/** $id: a request_id, or the id of the registry, which of a document of ours is kept by its request_id. */
const ID = 'ANY (ARRAY[$id, lower($id)])';
const DOCUMENT = `SELECT known_from FROM movement_document
    WHERE known_to IS NULL AND (request_id = ${ID} OR document_id = ${ID})
  UNION ALL SELECT d.known_from FROM sent_document t JOIN movement_document d ON d.request_id = t.request_id
    WHERE t.document_id = ${ID} AND d.known_to IS NULL AND d.document_id IS NULL`;

/** A request_id may be of a document that has moved nothing yet; of other ids only those that were told are any. */
async function mustBeDocument(db: Queryable, id: string): Promise<void> {
  if (isUuid(id)) return;
  const told = `SELECT EXISTS (${DOCUMENT.replaceAll('$id', () => '$1::text')}) AS told`;
  if ((await db.query<{ told: boolean }>(told, [id])).rows[0]?.told !== true)
    throw invalidParameter('document', `${id} is neither a request_id nor the id of a document that has moved a pack`);
}

/**
 * What a document names, and all that lies in it now, however deep. As arrays both sets are found first: as IN they
 * would be joined, and the planner reads the whole other table for that. Proven in list-costs.int.spec.ts.
 */
const NAMED_OR_INSIDE = `WITH RECURSIVE named AS (
    SELECT m.item FROM item_movement m WHERE m.known_from = ANY (ARRAY(${DOCUMENT}))
    UNION
    SELECT s.item FROM named n JOIN pack_state s ON s.container = n.item ${JOIN_STAY}
    WHERE length(n.item) = 18 AND y.ended_position IS NULL
  ) SELECT item FROM named`;

function commonConditions(query: Candidates, value: (one: unknown) => string): string[] {
  const { gtin, series, container, document, expiresBy, after } = query;
  // A cursor of another question may lie before all packs of this product.
  const lowest = gtin !== undefined && gtin > after ? gtin : after;
  const conditions: [unknown, (mark: string) => string][] = [
    [lowest, (mark) => `s.item > ${mark}`],
    [gtin === undefined ? undefined : `${gtin}~`, (mark) => `s.item < ${mark}`],
    [series, (mark) => `s.series = ${mark}`],
    [container, (mark) => `s.container = ${mark} AND y.ended_position IS NULL`],
    [expiresBy, (mark) => `s.expires_on <= ${mark}::date`],
    [document, (mark) => `s.item = ANY (ARRAY(${NAMED_OR_INSIDE.replaceAll('$id', () => mark)}))`],
  ];
  const asked = conditions.flatMap(([given, condition]) => (given === undefined ? [] : [condition(value(given))]));
  // No container; as `= 27` PostgreSQL would expect a row of 200, and sort all rather than read a page in order.
  return ['length(s.item) <> 18', ...notTold(query), ...asked];
}

/** What no document has told; no move of a whole place changes that. */
function notTold({ seriesUnknown, statusUnknown, placeUnknown, placeLeft }: PackListQuery): string[] {
  const conditions: [boolean | undefined, string][] = [
    [seriesUnknown, 's.series IS NULL'],
    [statusUnknown, `${STATUS} IS NULL`],
    [placeUnknown, `${PLACE} IS NULL`],
    [placeLeft, `${PLACE} = ''`],
  ];
  return conditions.flatMap(([isAsked, condition]) => (isAsked === true ? [condition] : []));
}

/** Packs with what their series is, and who told us. */
export async function packsTold(db: Queryable, packs: readonly PackNow[], types: PackTypes): Promise<PackSummary[]> {
  const positions = packs.flatMap(({ toldFrom, doubtFrom, seriesFrom }) => [toldFrom, doubtFrom, seriesFrom]);
  const tellerOf = await tellers(db, positions, types);
  return packs.map(({ item, status, place, container, series, expiresOn, seriesFrom, toldFrom, doubtFrom }) => ({
    sgtin: item,
    ...splitSgtin(item),
    ...present({ status, place: place === '' ? null : place, container, series, expiresOn }),
    ...present({ seriesToldBy: tellerOf(seriesFrom), uncertainBy: tellerOf(doubtFrom) }),
    ...(doubtFrom === null ? {} : { uncertain: true as const }),
    toldBy: tellerOf(toldFrom) as TellingDocument,
  }));
}
