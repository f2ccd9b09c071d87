import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { SeriesFile, SeriesPage } from '../port.js';
import { loadPlaceMoves } from './load.js';
import { groupsMoved, JOIN_STAY, movesAsked, nextMove, PLACE, STATUS, type PackTypes } from './now.js';
import { everOurs, mayBeNew, WAS_TAKEN_BACK_BY } from './ever-ours.js';
import { ON_ITS_WAY, type StandingNow } from './fold.js';
import { ownPlaces } from './own-places.js';
import { knownUpTo } from './record-age.js';
import { OF_NO_SERIES, OF_SERIES, rangeOf, sourcesOf, type Asked, type Series } from './series-sources.js';
import { tellers } from './tellers.js';

type Figure = SeriesFile['fates'][number];

/** Groups of packs that one answer sums up: branches, customers, statuses and types of documents. */
const MOST_GROUPS = 100_000;

/** Packs of which lives and rows are in memory at once. */
const ALONE_AT_ONCE = 5_000;

/** What of a pack its group has. $4: our places; $5 to $7: moves of whole places. */
const PACKS_WHERE = (which: string): string => `SELECT item, status, place, next_move AS "nextMove",
    d.doc_type AS "docType", d.subject_id AS subject, d.counterparty_id AS counterparty,
    told_from AS "toldFrom", suspended_from AS "suspendedFrom", d.accepted_at AS "acceptedAt",
    ${mayBeNew('$4', WAS_TAKEN_BACK_BY)} AS is_alone
  FROM (SELECT s.item, s.first_from,
      ${STATUS} AS status,
      ${PLACE} AS place,
      ${nextMove(['$5', '$6', '$7'])} AS next_move, coalesce(y.place_from, s.place_from) AS place_from,
      coalesce(y.moved_from, s.position) AS told_from,
      CASE WHEN s.suspended THEN coalesce(y.paused_from, s.suspended_from, s.status_from)
        ELSE coalesce(y.suspended_from, y.status_from) END AS suspended_from
    FROM pack_state s ${JOIN_STAY} WHERE ${which}) AS pack
  JOIN movement_document d ON d.known_from = told_from`;

const OF_GROUP = 'status, place, "nextMove", "docType", subject, counterparty';

/**
 * What no figure tells apart is one group: a series that was sold pack by pack has a document for each. Packs of which
 * only their lives tell whether they were ever ours are in groups of their own, with their `items`. $8: the most
 * groups, and one more. OFFSET 0: whether a pack is such a one is worked out once.
 */
const groupsWhere = (which: string): string => `SELECT ${OF_GROUP}, max("toldFrom") AS "toldFrom",
    min("suspendedFrom") AS "suspendedFrom", max("acceptedAt") AS "acceptedAt", count(*)::int AS packs,
    array_agg(item) FILTER (WHERE is_alone) AS items
  FROM (${PACKS_WHERE(which)} OFFSET 0) AS pack
  GROUP BY ${OF_GROUP}, is_alone LIMIT $8`;

/** $1 to $3: items, and nothing. */
const ALONE = `SELECT item, ${OF_GROUP}, "toldFrom", "suspendedFrom", "acceptedAt", 1 AS packs
  FROM (${PACKS_WHERE('s.item = ANY ($1::text[]) AND $2::text IS NULL AND $3::text IS NULL')}) AS pack ORDER BY item`;

const EXPIRIES = `SELECT s.expires_on AS day FROM pack_state s WHERE ${OF_SERIES} AND s.expires_on IS NOT NULL
  GROUP BY 1 ORDER BY 1 LIMIT 100`;

/** Packs of a series that stand alike, and what is common to the documents that told it; `acceptedAt` is the newest. */
export type SeriesGroup = StandingNow & {
  nextMove: number | null;
  docType: number;
  subject: string;
  counterparty: string | null;
  acceptedAt: Date | null;
  packs: number;
  suspendedFrom: bigint | null;
  /** Its way to us was ended by a refusal or a recall. */
  isRefused: boolean;
  /** It has never been ours. */
  isNew: boolean;
};

/** What the packs of all series have in common: moves of whole places, our places, how far the record has come. */
export interface CommonToSeries {
  moves: Awaited<ReturnType<typeof loadPlaceMoves>>;
  knownAt: bigint;
  own: ReadonlySet<string>;
}

export async function commonToSeries(db: Queryable): Promise<CommonToSeries> {
  const moves = await loadPlaceMoves(db);
  const knownAt = await knownUpTo(db);
  return { moves, knownAt, own: await ownPlaces(db) };
}

/**
 * How the packs of a series stand, up to which log position that is known, and which places are ours. Whoever asks
 * about many series in one snapshot reads once what they have in common.
 */
export async function groupsOfSeries(
  db: Queryable,
  { gtin, series, mostGroups = MOST_GROUPS, common }: Asked & { mostGroups?: number; common?: CommonToSeries },
  types: PackTypes,
): Promise<{ groups: SeriesGroup[]; own: ReadonlySet<string>; knownAt: bigint }> {
  const { moves, knownAt, own } = common ?? (await commonToSeries(db));
  const places = [[...own], ...movesAsked(moves)];
  const values = [...rangeOf({ gtin, series }), ...places, mostGroups + 1];
  const { rows } = await db.query<GroupRow>(groupsWhere(series === null ? OF_NO_SERIES : OF_SERIES), values);
  if (rows.length > mostGroups)
    throw new PedigreeError(
      'too_many_items',
      `${series === null ? `unknown series of ${gtin}` : `series ${series}`} stands in more than ${mostGroups} groups`,
      { field: 'series', item: series ?? gtin },
    );
  const known = rows.flatMap(({ items, ...row }): SeriesGroup[] =>
    items === null ? [{ ...row, isRefused: false, isNew: isComing(row, own) }] : [],
  );
  const alone = rows.flatMap(({ items }) => items ?? []);
  known.push(...(await groupsByLives(db, alone, { own, types, places })));
  return { groups: groupsMoved(known, { moves, types }), own, knownAt };
}

type GroupRow = Omit<SeriesGroup, 'isNew' | 'isRefused'> & { items: string[] | null };

/** Of packs of which only their lives tell whether they were ever ours: groups as of all others. */
async function groupsByLives(
  db: Queryable,
  items: readonly string[],
  { own, types, places }: { own: ReadonlySet<string>; types: PackTypes; places: unknown[] },
): Promise<SeriesGroup[]> {
  const groups = new Map<string, SeriesGroup>();
  for (let from = 0; from < items.length; from += ALONE_AT_ONCE) {
    const some = items.slice(from, from + ALONE_AT_ONCE);
    const wereOurs = await everOurs(db, some, { own, types });
    const { rows } = await db.query<SeriesGroup & { item: string }>(ALONE, [some, null, null, ...places]);
    for (const { item, ...row } of rows)
      // One that is not on its way to us was refused or recalled on it.
      addTo(groups, { ...row, isRefused: !isComing(row, own), isNew: !wereOurs.has(item) });
  }
  return [...groups.values()];
}

function addTo(groups: Map<string, SeriesGroup>, one: SeriesGroup): void {
  const { status, place, docType, subject, counterparty, isNew, isRefused } = one;
  const key = JSON.stringify([status, place, one.nextMove, docType, subject, counterparty, isNew, isRefused]);
  const so = groups.get(key);
  if (so === undefined) return void groups.set(key, one);
  so.packs += one.packs;
  if (one.toldFrom > so.toldFrom) so.toldFrom = one.toldFrom;
  if (one.acceptedAt !== null && (so.acceptedAt === null || one.acceptedAt > so.acceptedAt))
    so.acceptedAt = one.acceptedAt;
  if (one.suspendedFrom !== null && (so.suspendedFrom === null || one.suspendedFrom < so.suspendedFrom))
    so.suspendedFrom = one.suspendedFrom;
}

/**
 * What was received of a series, from whom, and what became of it, by branch: every pack counts once. `undefined` when
 * no document has moved a pack of the series. `db` reads one snapshot, so that its figures are of one log position.
 * `suspendedBy`: the suspensions of the series that are in force, whatever documents say of a pack.
 * @throws PedigreeError `invalid_parameter`; `too_many_items` for a series that stands in more than 100,000 groups.
 */
export async function seriesFileOf(
  db: Queryable,
  asked: Series & Pick<SeriesPage, 'limit'> & { suspendedBy: string[] },
  types: PackTypes,
): Promise<SeriesFile | undefined> {
  const { gtin, series, suspendedBy: by } = asked;
  const { groups, own, knownAt } = await groupsOfSeries(db, asked, types);
  if (groups.length === 0) return undefined;
  const { sources, items: received, nextCursor } = await sourcesOf(db, asked, types);
  const expiries = await db.query<{ day: string }>(EXPIRIES, rangeOf(asked));
  const fates = figuresOf(groups, { gtin, series, own });
  const totals = totalsOf(fates);
  const blocked = blockedOf(groups);
  const tellerOf = await tellers(db, [blocked.knownAt], types);
  const packs = sum(groups);
  const since = present({ knownAt: blocked.knownAt?.toString(), knownFrom: tellerOf(blocked.knownAt) });
  return {
    ...{ gtin, series, expiresOn: expiries.rows.map(({ day }) => day), knownAt: String(knownAt), packs },
    ...{ receivedPacks: packs - totals.incoming - totals.notReceived, totals, sources, received, fates },
    receivedInMore: packs - sum(received),
    ...(nextCursor === undefined ? {} : { receivedMoreAt: moreAt(asked, nextCursor) }),
    ...(by.length === 0 && blocked.packs === 0
      ? {}
      : { suspension: { by, packs: blocked.packs, ...since, ...tellWhom(fates) } }),
  };
}

const moreAt = ({ gtin, series }: Series, cursor: string): string =>
  `/v1/series/${gtin}/${encodeURIComponent(series)}/sources?${new URLSearchParams({ cursor }).toString()}`;

/** All fates, also those that no pack has. */
function totalsOf(fates: readonly Figure[]): SeriesFile['totals'] {
  const of = (wanted: Figure['fate']): number => sum(fates.filter(({ fate }) => fate === wanted));
  return {
    ...{ incoming: of('incoming'), returning: of('returning'), notReceived: of('not_received') },
    ...{ onHand: of('on_hand'), shipped: of('shipped'), sold: of('sold') },
    ...{ dispensed: of('dispensed'), writtenOff: of('written_off'), returned: of('returned') },
    ...{ leftOtherwise: of('left_otherwise'), unknown: of('unknown') },
  };
}

const sum = (counted: readonly { packs: number }[]): number => counted.reduce((all, { packs }) => all + packs, 0);

const SUSPENDED = new Set(['paused_circulation', 'confirm_return_paused']);

/** What documents say is suspended now, and since which position we know of the first suspension. */
function blockedOf(groups: readonly SeriesGroup[]): { packs: number; knownAt: bigint | null } {
  const suspended = groups.filter(({ status }) => status !== null && SUSPENDED.has(status));
  const known = suspended.flatMap(({ suspendedFrom }) => suspendedFrom ?? []);
  return { packs: sum(suspended), knownAt: known.length === 0 ? null : known.reduce((a, b) => (a < b ? a : b)) };
}

/** What lies in stock of a suspended series, and who has received packs of it. */
function tellWhom(fates: readonly Figure[]): { onHand: number; customers: { place: string; packs: number }[] } {
  const customers = new Map<string, number>();
  for (const { fate, place, packs } of fates)
    if ((fate === 'shipped' || fate === 'returned') && place !== undefined)
      customers.set(place, (customers.get(place) ?? 0) + packs);
  return {
    onHand: sum(fates.filter(({ fate }) => fate === 'on_hand')),
    customers: [...customers].map(([place, packs]) => ({ place, packs })).sort((a, b) => b.packs - a.packs),
  };
}

/** A pack of which a part was sold or used stands where it stood, until nothing is left of it. */
const FATE_OF: Readonly<Record<string, Figure['fate']>> = {
  in_sale: 'sold',
  in_discount_prescription_sale: 'dispensed',
  dispensing_by_document: 'dispensed',
  in_medical_use: 'dispensed',
  out_of_circulation: 'written_off',
  disposed: 'written_off',
  moved_for_disposal: 'written_off',
  moved_to_eeu: 'shipped',
  moved_to_unregistered: 'shipped',
};
/** Statuses in which a pack is on no shelf any more, whatever its place. */
export const OFF_THE_SHELF: readonly string[] = Object.keys(FATE_OF);

type Standing = Pick<SeriesGroup, 'status' | 'place'> & Partial<Pick<SeriesGroup, 'isNew' | 'isRefused'>>;

/** On its way to a place of ours. */
const isComing = ({ status, place }: Pick<SeriesGroup, 'status' | 'place'>, own: ReadonlySet<string>): boolean =>
  status !== null && place !== null && ON_ITS_WAY.has(status) && own.has(place);

/** What became of packs with this status at this place. */
export function fateOf({ status, place, isNew, isRefused }: Standing, own: ReadonlySet<string>): Figure['fate'] {
  if (status === null) return 'unknown';
  const fate = FATE_OF[status];
  if (fate !== undefined) return fate;
  if (place === '') return 'left_otherwise';
  if (place === null) return 'unknown';
  if (isComing({ status, place }, own)) return isNew === true ? 'incoming' : 'returning';
  if (own.has(place)) return 'on_hand';
  if (isRefused === true) return isNew === true ? 'not_received' : 'shipped';
  // A pack is suspended when it is returned (417), and stays so when the other side has accepted it.
  return SUSPENDED.has(status) ? 'returned' : 'shipped';
}

/** What a figure does not tell is asked for as such: without it, all packs would be opened. */
const notTold = (status: string | null, place: string | null): Record<string, string> => ({
  ...(status === null ? { status_unknown: 'true' } : {}),
  ...(place === null ? { place_unknown: 'true' } : {}),
  ...(place === '' ? { place_left: 'true' } : {}),
});

/** Fates that packs of one status at one place may have beside one another. */
const MAY_STAND_TOGETHER = new Set<Figure['fate']>(['incoming', 'returning', 'not_received', 'shipped', 'returned']);

type FigureContext = Series & { own: ReadonlySet<string> };

function figuresOf(groups: readonly SeriesGroup[], context: FigureContext): Figure[] {
  const byKey = new Map<string, SeriesGroup[]>();
  for (const group of groups) {
    const key = JSON.stringify([group.status, group.place, fateOf(group, context.own)]);
    const alike = byKey.get(key);
    if (alike === undefined) byKey.set(key, [group]);
    else alike.push(group);
  }
  return [...byKey.values()]
    .map((alike) => figureOf(alike as [SeriesGroup, ...SeriesGroup[]], context))
    .sort((a, b) => (a.fate < b.fate ? -1 : Number(a.fate > b.fate)) || b.packs - a.packs);
}

/** The place of ours that a document speaks for, or to. */
export const branchOf = (
  { subject, counterparty }: Pick<SeriesGroup, 'subject' | 'counterparty'>,
  own: ReadonlySet<string>,
): string => (counterparty !== null && own.has(counterparty) && !own.has(subject) ? counterparty : subject);

function figureOf(alike: [SeriesGroup, ...SeriesGroup[]], { gtin, series, own }: FigureContext): Figure {
  const [{ status, place, isNew, isRefused }] = alike;
  const fate = fateOf({ status, place, isNew, isRefused }, own);
  const branches = new Map<string, { packs: number; types: Set<number> }>();
  for (const { subject, counterparty, docType, packs } of alike) {
    const branch = branchOf({ subject, counterparty }, own);
    const so = branches.get(branch) ?? { packs: 0, types: new Set() };
    branches.set(branch, { packs: so.packs + packs, types: so.types.add(docType) });
  }
  const known = present({ status, place: place === '' ? null : place });
  const apart = MAY_STAND_TOGETHER.has(fate) ? { fate } : {};
  const query = new URLSearchParams({ gtin, series, ...known, ...notTold(status, place), ...apart });
  return {
    ...{ fate, ...known, packs: sum(alike), packsAt: `/v1/packs?${query.toString()}` },
    branches: [...branches].map(([branch, { packs, types: told }]) => ({
      ...{ branch, packs, documentTypes: [...told].sort((a, b) => a - b) },
    })),
  };
}
