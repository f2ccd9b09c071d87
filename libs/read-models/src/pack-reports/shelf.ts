import { typeKnowledge } from '#documents';
import type { Pool, Queryable } from '#postgres';
import { present } from '../list-page.js';
import { dayAfter, dayIn } from '../pack-state/day-in.js';
import { IS_RECALLED, loadPlaceMoves } from '../pack-state/load.js';
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
} from '../pack-state/now.js';
import { ownPlaces } from '../pack-state/own-places.js';
import { fateOf, OFF_THE_SHELF } from '../pack-state/series-file.js';
import type { PlaceMove } from '../pack-state/fold.js';
import type { ExpiringPacks, ShelfLine, ShelfPart, ShelfQuery, UnmovedPacks } from '../report-port.js';
import { SHELF_PARTS } from './shape.js';
import { MOST_LINES, pinned, tooMany, type ReportPin } from './snapshot.js';

const DAY_MS = 86_400_000;

/**
 * Packs as they stand, the document that named them last, and those that told status and place. $3 to $5: moves of
 * whole places.
 */
const STANDING = `SELECT s.item AS sgtin, left(s.item, 14) AS gtin, s.series, s.expires_on,
    ${STATUS} AS status,
    ${PLACE} AS place,
    ${nextMove(['$3', '$4', '$5'])} AS next_move,
    coalesce(y.moved_from, s.position) AS told_from, s.container,
    coalesce(y.status_from, s.status_from) AS status_from, coalesce(y.place_from, s.place_from) AS place_from
  FROM pack_state s ${JOIN_STAY} WHERE length(s.item) = 27 AND s.item > $1 AND s.item < $2`;

const IS_NO_CORRECTION = `d.doc_type NOT IN (${typeKnowledge.keepingAll.join(', ')})`;
/**
 * When a pack was moved last. A correction moves nothing: before it came what told status or place, also of what holds
 * the pack, or another document that names it or its container.
 */
const MOVED_AT = `CASE WHEN ${IS_NO_CORRECTION} THEN d.ordered_at
  ELSE coalesce(greatest(
    (SELECT max(o.ordered_at) FROM movement_document o WHERE o.known_from IN (pack.status_from, pack.place_from)),
    (SELECT max(d.ordered_at) FROM item_movement m
        JOIN movement_effect e USING (known_from, effect) JOIN movement_document d USING (known_from)
      WHERE m.item IN (pack.sgtin, pack.container) AND e.result <> 'refused' AND d.known_to IS NULL
        AND ${IS_NO_CORRECTION} AND NOT (${IS_RECALLED}))), d.ordered_at) END`;

interface Counted {
  sgtin: string | null;
  gtin: string | null;
  series: string | null;
  expires_on: string | null;
  status: string | null;
  place: string | null;
  next_move: number | null;
  first_at: Date;
  last_at: Date;
  packs: number;
}
type Group = PackNow & { nextMove: number | null; counted: Counted };

/** What is chosen of all packs on our shelves. */
interface Chosen {
  movedBefore?: Date;
  /** Packs whose expiry nobody has told come with them: they are counted. */
  expiresBy?: string;
}

/** Packs on our shelves that no document has moved for so many days, the longest first. */
export const unmovedPacks = (pool: Pool, query: ShelfQuery, context: ShelfContext): Promise<UnmovedPacks> =>
  pinned(pool, context.asOf, async (db, pin) => {
    const movedBefore = new Date(context.asOf.getTime() - query.days * DAY_MS);
    const groups = await onShelf(db, { ...query, movedBefore }, context);
    const items = linesOf(groups, query.by, pin).sort(inOrder(({ lastMovedAt }) => lastMovedAt));
    return { ...pin, days: query.days, movedBefore: movedBefore.toISOString(), packs: sum(groups), items };
  });

/** Packs on our shelves that expire within so many days, or have expired, the earliest first. */
export const expiringPacks = (
  pool: Pool,
  query: ShelfQuery,
  context: ShelfContext & { zone: string },
): Promise<ExpiringPacks> =>
  pinned(pool, context.asOf, async (db, pin) => {
    const today = dayIn(context.zone, context.asOf);
    const expiresBy = dayAfter(query.days, context);
    const groups = await onShelf(db, { ...query, expiresBy }, context);
    const told = groups.filter(({ expiresOn }) => expiresOn !== null);
    const by: ShelfPart[] = query.by.includes('expires_on') ? [...query.by] : [...query.by, 'expires_on'];
    const items = linesOf(told, by, pin)
      .map((line) => ({ ...line, expired: (line.expiresOn as string) < today }))
      .sort(inOrder(({ expiresOn }) => expiresOn as string));
    const expired = sum(told.filter(({ expiresOn }) => (expiresOn as string) < today));
    const expiryUnknown = sum(groups.filter(({ expiresOn }) => expiresOn === null));
    return { ...pin, days: query.days, expiresBy, packs: sum(told), expired, expiryUnknown, items };
  });

export interface ShelfContext {
  types: PackTypes;
  asOf: Date;
  /** Most lines of an answer. For tests; the usual one is MOST_LINES. */
  mostLines?: number;
}

/** By this, and lines that are alike in it by all that they are told apart by. */
const inOrder =
  (of: (line: ShelfLine) => string) =>
  (a: ShelfLine, b: ShelfLine): number => {
    const [one, other] = [a, b].map((line) =>
      [of(line), ...SHELF_PARTS.map((part) => line[NAMES[part]] ?? '\uffff')].join(' '),
    );
    return one === other ? 0 : (one as string) < (other as string) ? -1 : 1;
  };
const NAMES = {
  place: 'place',
  gtin: 'gtin',
  series: 'series',
  expires_on: 'expiresOn',
  status: 'status',
  sgtin: 'sgtin',
} as const;

const sum = (groups: readonly Group[]): number => groups.reduce((all, { counted }) => all + counted.packs, 0);

/** Groups of packs that are on hand at places of ours, after what was moved with its whole place. */
async function onShelf(
  db: Queryable,
  query: ShelfQuery & Chosen,
  { types, mostLines = MOST_LINES }: ShelfContext,
): Promise<Group[]> {
  const moves = await loadPlaceMoves(db);
  const own = await ownPlaces(db);
  const rows = await count(db, query, { own, moves, mostLines });
  const stood = rows.map((counted): Group => ({ ...standing(counted), counted }));
  const stand = groupsMoved(stood, { moves, types });
  const movedAt = new Map(moves.map(({ position, atMicros }) => [position, new Date(Number(atMicros / 1_000n))]));
  const moved = stand.map((one) => withItsMove(one, movedAt));
  return moved.filter((one) => fateOf(one, own) === 'on_hand' && isAsked(one, query));
}

/** What was moved with its whole place was moved then. */
function withItsMove(group: Group, movedAt: ReadonlyMap<bigint, Date>): Group {
  const at = movedAt.get(group.toldFrom);
  return at === undefined ? group : { ...group, counted: { ...group.counted, first_at: at, last_at: at } };
}

const isAsked = ({ place, counted }: Group, { place: wanted, movedBefore }: ShelfQuery & Chosen): boolean =>
  (wanted === undefined || place === wanted) && (movedBefore === undefined || counted.last_at < movedBefore);

/** Until a move of its whole place, no document is told of it. */
const standing = (one: Counted): Omit<Group, 'counted'> => ({
  ...{ item: '', series: one.series, expiresOn: one.expires_on, seriesFrom: null, container: null, toldFrom: 0n },
  ...{ status: one.status, place: one.place, transfer: null, nextMove: one.next_move },
  ...{ statusFrom: null, placeFrom: null, doubtFrom: null, doubts: null },
});

/** Counted in one pass; what goes with a move of its whole place is kept apart. */
async function count(
  db: Queryable,
  { gtin, series, place, by, movedBefore, expiresBy }: ShelfQuery & Chosen,
  { own, moves, mostLines }: { own: ReadonlySet<string>; moves: readonly PlaceMove[]; mostLines: number },
): Promise<Counted[]> {
  const asked = place === undefined ? [...own] : [place];
  const values: unknown[] = [gtin ?? '', `${gtin ?? ''}~`, ...movesAsked(moves)];
  values.push(asked, placesLeadingTo(asked, moves), OFF_THE_SHELF);
  const value = (one: unknown): string => `$${values.push(one)}`;
  const needed = new Set<ShelfPart>([
    ...by,
    'place',
    'status',
    ...(expiresBy === undefined ? [] : ['expires_on' as const]),
  ]);
  const parts = SHELF_PARTS.map((part) => (needed.has(part) ? part : `NULL::text AS ${part}`));
  const conditions = [
    'place = ANY ($7::text[]) AND (place = ANY ($6::text[]) OR next_move IS NOT NULL)',
    'status <> ALL ($8::text[])',
    ...(series === undefined ? [] : [`series = ${value(series)}`]),
    ...(movedBefore === undefined ? [] : [`moved_at < ${value(movedBefore)}`]),
    ...(expiresBy === undefined ? [] : [`(expires_on <= ${value(expiresBy)}::date OR expires_on IS NULL)`]),
  ];
  const groups = [...SHELF_PARTS, 'next_move'].map((_, n) => n + 1).join(', ');
  const { rows } = await db.query<Counted>(
    `SELECT ${parts.join(', ')}, next_move, min(moved_at) AS first_at, max(moved_at) AS last_at,
       count(*)::int AS packs
     FROM (${STANDING}) AS pack JOIN movement_document d ON d.known_from = pack.told_from
       CROSS JOIN LATERAL (SELECT ${MOVED_AT} AS moved_at OFFSET 0) AS moved
     WHERE ${conditions.join(' AND ')} GROUP BY ${groups} LIMIT ${mostLines + 1}`,
    values,
  );
  if (rows.length > mostLines) throw tooMany(mostLines, SHORTER);
  return rows;
}

/** What makes the report shorter. */
const SHORTER = { field: 'by', advice: 'ask for a place, a product or a series' };

function linesOf(groups: readonly Group[], by: readonly ShelfPart[], { asOf, knownAt }: ReportPin): ShelfLine[] {
  const lines = new Map<string, ShelfLine>();
  for (const { status, place, counted } of groups) {
    const { gtin, series, expires_on, sgtin } = counted;
    const all = { place, gtin, series, expires_on, status, sgtin };
    const { expires_on: expiresOn, ...asked } = Object.fromEntries(by.map((part) => [part, all[part]]));
    const told = present({ ...asked, expiresOn });
    const key = JSON.stringify(told);
    const before = lines.get(key);
    const [first, last] = [counted.first_at.toISOString(), counted.last_at.toISOString()];
    lines.set(key, {
      ...told,
      packs: counted.packs + (before?.packs ?? 0),
      firstMovedAt: before !== undefined && before.firstMovedAt < first ? before.firstMovedAt : first,
      lastMovedAt: before !== undefined && before.lastMovedAt > last ? before.lastMovedAt : last,
      ...{ asOf, knownAt },
    });
  }
  return [...lines.values()];
}
