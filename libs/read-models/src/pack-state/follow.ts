import type { TypeKnowledge } from '#documents';
import { defined, isSscc } from '#kernel';
import type { Transaction } from '#postgres';
import type { Movements } from '../sgtin-history/movements.js';
import { appendPlain } from './append.js';
import { packState, packStay, type PlaceMove, type StayKey } from './fold.js';
import { isPlace } from './lives.js';
import { IS_RECALLED, loadLives, loadPlaceMoves, MICROS } from './load.js';
import { movesAsked, nextMove } from './now.js';
import { PACK_STATE, PACK_STAY, PLACE_MOVE, SERIES_TOLD, type PackStateRow } from './row.js';

export interface Followed {
  /** What a page wrote. */
  movements: readonly Movements[];
  /** Items that more than one of its movements may have moved. */
  namedTwice: ReadonlySet<string>;
  /** Called where the database works long, and the program has nothing to do. */
  onWaiting: () => void;
  /** Log positions of documents that count no longer, or again, since this page. */
  closed: readonly bigint[];
  types: Pick<TypeKnowledge, 'statusAfter'>;
}

/** Items whose lives are in memory at once. */
const ITEMS_AT_ONCE = 5_000;

/**
 * Brings the state of packs up to date with a page that is already written, in its transaction. Each row is computed
 * anew from the documents that count, so that late documents, revisions and the bounds of pages change nothing about
 * what comes out. The rows of what a container holds are not touched when it moves, but where a document comes later
 * than one that has taken them out.
 */
export async function followPacks(tx: Transaction, followed: Followed): Promise<void> {
  const { movements, closed, types } = followed;
  await writePlaceMoves(tx, movements);
  await writeSeries(tx, movements);
  const changed = await changedBy(tx, movements, closed);
  if (!changed.isAny && movements.every(({ series }) => series.length === 0)) return;
  const containers = await nestedIn(tx, changed.containers);
  const placeMoves = await loadPlaceMoves(tx);
  const isBeforeMove = placeMoves.some(({ atMicros }) => atMicros >= changed.firstMicros);
  const others = new Set(await toldAbout(tx, { movements, closed }));
  for (const item of await byThemselves(tx, containers, { placeMoves, isBeforeMove })) others.add(item);
  if (changed.isLate) for (const item of await overtaken(tx, containers, changed)) others.add(item);
  const stays = new Stays();
  const page = { ...followed, changed, containers, others, placeMoves, isBeforeMove };
  const items = [...(await appendable(tx, page, stays))].filter((item) => !isPlace(item));
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE)
    await writeStates(tx, items.slice(from, from + ITEMS_AT_ONCE), { types, placeMoves, stays });
  await writeEntered(tx, stays.entered, types);
  await writeMovedStays(tx, { containers, since: changed.firstMicros, types });
  await dropEmptyStays(tx, stays.left);
}

const ON_THEIR_WAY = `SELECT item FROM pack_state
  WHERE container = ANY ($1::text[]) AND container IS NOT NULL AND transfer IS NOT NULL`;

const MOVED_AT = `coalesce((SELECT ${MICROS} FROM movement_document d WHERE d.known_from = y.moved_from), y.at_micros)`;
/**
 * Beside these, what a move of its place has taken along since; all, where $2. Packs are looked at only in stays that
 * nothing has moved since the newest of those moves.
 */
const TAKEN_ALONG = `SELECT s.item FROM pack_stay y
    JOIN pack_state s ON s.container = y.container AND s.position = y.position
  WHERE y.container = ANY ($1::text[]) AND ($2 OR ${MOVED_AT} <= (SELECT max(at) FROM unnest($4::bigint[]) AS move (at))
    AND ${nextMove(['$3', '$4', '$5'])} IS NOT NULL)`;

interface PlaceMoves {
  placeMoves: readonly PlaceMove[];
  /** Some came after documents of the page: other documents may now concern items in containers by themselves. */
  isBeforeMove: boolean;
}

/** What is in these containers, and is followed by itself there, as `packState` does. */
async function byThemselves(
  tx: Transaction,
  containers: string[],
  { placeMoves, isBeforeMove }: PlaceMoves,
): Promise<string[]> {
  if (containers.length === 0) return [];
  const onTheirWay = (await tx.query<{ item: string }>(ON_THEIR_WAY, [containers])).rows;
  if (placeMoves.length === 0) return onTheirWay.map(({ item }) => item);
  const values = [containers, isBeforeMove, ...movesAsked(placeMoves)];
  const taken = (await tx.query<{ item: string }>(TAKEN_ALONG, values)).rows;
  return [...onTheirWay, ...taken].map(({ item }) => item);
}

interface PageOfPacks extends Followed, PlaceMoves {
  changed: Changed;
  /** All that the page moves, with what nests in them. */
  containers: string[];
  /** Items of which more has changed than that a document named them. */
  others: ReadonlySet<string>;
}

/** Appends to rows what can be; the items of which the lives must be read are left. */
async function appendable(tx: Transaction, page: PageOfPacks, stays: Stays): Promise<Set<string>> {
  const { movements, closed, changed, containers, others, placeMoves, namedTwice, onWaiting } = page;
  if (closed.length > 0 || page.isBeforeMove) return new Set([...movedBy(movements), ...changed.closed, ...others]);
  const into = movements.flatMap(({ effects }) => effects.flatMap(({ container }) => container ?? []));
  const appended = await appendPlain(tx, {
    ...{ movements, acceptedOf: changed.acceptedOf, isLate: changed.isLate, without: others, moving: containers },
    ...{
      ...{ namedTwice, onWaiting },
      lives: await loadLives(tx, [...new Set(into)]),
      placeMoves,
    },
  });
  stays.entered.add(...appended.entered);
  stays.left.add(...appended.left);
  return new Set([...appended.others, ...others]);
}

/** Stays by container and position. */
class StayKeys {
  private readonly byKey = new Map<string, StayKey>();

  add(...keys: readonly StayKey[]): void {
    for (const key of keys) this.byKey.set(`${key.container} ${key.position}`, key);
  }

  all(): StayKey[] {
    return [...this.byKey.values()];
  }
}

/** Stays that items of a page have entered and left. */
class Stays {
  readonly entered = new StayKeys();
  readonly left = new StayKeys();
}

/** Empties the tables for a rebuild, with those of the history. */
export const PACK_TABLES = [PACK_STATE, PACK_STAY, PLACE_MOVE, SERIES_TOLD] as const;

async function writePlaceMoves(tx: Transaction, movements: readonly Movements[]): Promise<void> {
  const moves = movements.flatMap(({ items }) =>
    items.flatMap(({ item, knownFrom }) => (isPlace(item) ? [{ place: item, position: knownFrom }] : [])),
  );
  await PLACE_MOVE.write(tx, moves);
}

async function writeSeries(tx: Transaction, movements: readonly Movements[]): Promise<void> {
  const rows = movements.flatMap(({ document: { knownFrom }, series: told }) =>
    told.map(({ item = '', gtin = '', series = null, expiresOn = null }, ordinal) => ({
      ...{ position: knownFrom, ordinal, item, gtin, series, expiresOn },
    })),
  );
  await SERIES_TOLD.copy(tx, rows);
}

const IN_CONTAINERS = `SELECT s.item FROM pack_state s WHERE s.container = ANY ($1::text[]) AND length(s.item) = 27`;
const OTHERWISE_TOLD = `${IN_CONTAINERS} AND ($2::text IS NOT NULL AND s.series IS DISTINCT FROM $2
  OR $3::date IS NOT NULL AND s.expires_on IS DISTINCT FROM $3::date)`;
const STILL_TOLD = `${IN_CONTAINERS} AND (s.series IS NOT NULL OR s.expires_on IS NOT NULL)`;
/** What documents told of, and the containers that they name where they told of all that they name. */
const TOLD_BY = `SELECT item FROM series_told WHERE position = ANY ($1::bigint[]) AND item <> ''
  UNION SELECT m.item FROM series_told t JOIN item_movement m ON m.known_from = t.position
    WHERE t.position = ANY ($1::bigint[]) AND t.item = '' AND length(m.item) = 18`;

/** Packs that are told of without being moved: by an answer of the registry, or by what carries them. */
async function toldAbout(
  tx: Transaction,
  { movements, closed }: Pick<Followed, 'movements' | 'closed'>,
): Promise<Set<string>> {
  const told = movements.flatMap(ofEachContainer);
  const noLonger = closed.length === 0 ? [] : (await tx.query<{ item: string }>(TOLD_BY, [closed])).rows;
  const items = new Set([...told, ...noLonger].flatMap(({ item }) => item ?? []));
  const inside = async (text: string, containers: string[], told: unknown[]): Promise<void> => {
    if (containers.length === 0) return;
    const values = [await nestedIn(tx, containers), ...told];
    for (const { item } of (await tx.query<{ item: string }>(text, values)).rows) items.add(item);
  };
  for (const { containers, series, expiresOn } of alike(told))
    await inside(OTHERWISE_TOLD, containers, [series, expiresOn]);
  await inside(STILL_TOLD, noLonger.map(({ item }) => item).filter(isSscc), []);
  return new Set([...items].filter((item) => item !== '' && !isSscc(item)));
}

type ToldAlike = Pick<Movements['series'][number], 'series' | 'expiresOn'> & { containers: string[] };

/** Containers of which the same was told. */
function alike(told: Movements['series']): Iterable<ToldAlike> {
  const found = new Map<string, ToldAlike>();
  for (const { item = '', series, expiresOn } of told) {
    if (!isSscc(item)) continue;
    const key = JSON.stringify([series, expiresOn]);
    const same = found.get(key);
    if (same === undefined) found.set(key, { ...defined({ series, expiresOn }), containers: [item] });
    else same.containers.push(item);
  }
  return found.values();
}

/** What a document says of all that it names, it says of what its containers hold. */
const ofEachContainer = ({ series, items }: Movements): Movements['series'] =>
  series.flatMap((one) =>
    one.item === undefined ? items.filter(({ item }) => isSscc(item)).map(({ item }) => ({ ...one, item })) : [one],
  );

interface Changed {
  /** Whether these documents did something to any item. */
  isAny: boolean;
  /** Containers that they did something to. */
  containers: string[];
  /** Whether one moved all that a place held. */
  hasPlace: boolean;
  /** What those did something to that count no longer, or again. */
  closed: string[];
  /** When the registry accepted each that is not recalled, by log position. */
  acceptedOf: Map<bigint, bigint>;
  /** The earliest acceptance among these documents. */
  firstMicros: bigint;
  /** A document known before was accepted after one of these. */
  isLate: boolean;
}

/** Whether one is late is asked once, of the earliest: asked of each, it reads the page's own documents for each. */
const ACCEPTED = `SELECT d.known_from AS position, ${MICROS} AS micros, ${IS_RECALLED} AS recalled,
    EXISTS (SELECT FROM movement_document o WHERE o.known_from < $2
      AND o.ordered_at >= (SELECT min(ordered_at) FROM movement_document WHERE known_from = ANY ($1::bigint[]))) AS late
  FROM movement_document d WHERE d.known_from = ANY ($1::bigint[])`;

async function changedBy(
  tx: Transaction,
  movements: readonly Movements[],
  closed: readonly bigint[],
): Promise<Changed> {
  const items = await namedByClosed(tx, closed);
  const kinds = { isAny: items.length > 0, hasPlace: items.some(isPlace), containers: new Set(items.filter(isSscc)) };
  for (const item of movedBy(movements)) {
    kinds.isAny = true;
    if (isPlace(item)) kinds.hasPlace = true;
    else if (isSscc(item)) kinds.containers.add(item);
  }
  const positions = movements.map(({ document }) => document.knownFrom);
  const [lowest] = positions;
  const values = [[...positions, ...closed], lowest ?? 0n];
  const { rows } = await tx.query<{ position: bigint; micros: bigint; late: boolean; recalled: boolean }>(
    ACCEPTED,
    values,
  );
  return {
    ...{ ...kinds, containers: [...kinds.containers], closed: items },
    acceptedOf: new Map(rows.flatMap(({ position, micros, recalled }) => (recalled ? [] : [[position, micros]]))),
    firstMicros: rows.reduce((first, { micros }) => (micros < first ? micros : first), rows[0]?.micros ?? 0n),
    isLate: closed.length > 0 || rows.some(({ late }) => late),
  };
}

/** Items, and places of which all was moved, that these documents did something to. */
function* movedBy(movements: readonly Movements[]): Iterable<string> {
  for (const { items, effects } of movements)
    for (const { item, effect } of items) if (effects[effect]?.result !== 'refused') yield item;
}

async function namedByClosed(tx: Transaction, closed: readonly bigint[]): Promise<string[]> {
  if (closed.length === 0) return [];
  const text = 'SELECT DISTINCT item FROM item_movement WHERE known_from = ANY ($1::bigint[])';
  return (await tx.query<{ item: string }>(text, [closed])).rows.map(({ item }) => item);
}

const NESTED = `WITH RECURSIVE nested AS (
    SELECT item COLLATE "C" AS item FROM unnest($1::text[]) AS given (item)
    UNION
    SELECT c.child FROM nested n JOIN containment c ON c.parent = n.item WHERE length(c.child) = 18
  ) SELECT item FROM nested`;

/** These containers, and all that were ever in them. */
async function nestedIn(tx: Transaction, containers: string[]): Promise<string[]> {
  if (containers.length === 0) return [];
  return (await tx.query<{ item: string }>(NESTED, [containers])).rows.map(({ item }) => item);
}

const OVERTAKEN = `SELECT DISTINCT c.child AS item
  FROM containment c JOIN pack_state s ON s.item = c.child
  WHERE c.parent = ANY ($1::text[]) AND s.at_micros >= $2`;
const AFTER_PLACE_MOVE = `SELECT item FROM pack_state WHERE at_micros >= $1
  UNION SELECT s.item FROM movement_document d JOIN pack_stay y ON y.moved_from = d.known_from
    JOIN pack_state s ON s.container = y.container AND s.position = y.position
  WHERE d.ordered_at >= to_timestamp($1 / 1000000) AND ${MICROS} >= $1`;

/**
 * Items whose rows already hold something that came after: of what was in these containers, those that a later document
 * has named; after a move of a whole place, everything that a later document has moved.
 */
async function overtaken(tx: Transaction, containers: string[], { hasPlace, firstMicros }: Changed): Promise<string[]> {
  if (!hasPlace && containers.length === 0) return [];
  const { rows } = hasPlace
    ? await tx.query<{ item: string }>(AFTER_PLACE_MOVE, [firstMicros])
    : await tx.query<{ item: string }>(OVERTAKEN, [containers, firstMicros]);
  return rows.map(({ item }) => item);
}

interface Writing {
  types: Followed['types'];
  placeMoves: readonly PlaceMove[];
  stays: Stays;
}

/** Writes the rows of these items anew, from their lives. */
async function writeStates(tx: Transaction, items: string[], { types, placeMoves, stays }: Writing): Promise<void> {
  const before = await PACK_STATE.load(tx, items);
  const lives = await loadLives(tx, items);
  const after = items.flatMap((item) => packState(item, lives, { types, placeMoves }) ?? []);
  await PACK_STATE.copy(
    tx,
    after.filter(({ item }) => !before.has(item)),
  );
  await PACK_STATE.write(
    tx,
    after.filter(({ item }) => before.has(item)),
  );
  const kept = new Set(after.map(({ item }) => item));
  const gone = [...before.keys()].filter((item) => !kept.has(item));
  if (gone.length > 0) await tx.query('DELETE FROM pack_state WHERE item = ANY ($1::text[])', [gone]);
  stays.left.add(...[...before.values()].flatMap(stayOf));
  stays.entered.add(...after.flatMap(stayOf));
}

const stayOf = ({ container, atMicros, position }: PackStateRow): StayKey[] =>
  container === null ? [] : [{ container, atMicros, position }];

/** What has happened since to what went into containers. */
async function writeEntered(tx: Transaction, entered: StayKeys, types: Followed['types']): Promise<void> {
  const keys = entered.all();
  for (let from = 0; from < keys.length; from += ITEMS_AT_ONCE)
    await writeStays(tx, keys.slice(from, from + ITEMS_AT_ONCE), types);
}

async function writeStays(tx: Transaction, keys: StayKey[], types: Followed['types']): Promise<void> {
  if (keys.length === 0) return;
  const lives = await loadLives(tx, [...new Set(keys.map(({ container }) => container))]);
  await PACK_STAY.write(
    tx,
    keys.map((key) => packStay(key, lives, types)),
  );
}

const MOVED_STAYS = `SELECT ${PACK_STAY.select({ only: ['container', 'atMicros', 'position'] })}
  FROM pack_stay WHERE container = ANY ($1::text[]) AND (ended_micros IS NULL OR ended_micros >= $2)`;

/** What moved containers did to what is in them: a row for each moment at which something went in. */
async function writeMovedStays(
  tx: Transaction,
  { containers, since, types }: { containers: string[]; since: bigint; types: Followed['types'] },
): Promise<void> {
  for (let from = 0; from < containers.length; from += ITEMS_AT_ONCE) {
    const some = containers.slice(from, from + ITEMS_AT_ONCE);
    const { rows } = await tx.query<StayKey>(MOVED_STAYS, [some, since]);
    await writeStays(tx, rows, types);
  }
}

const DROP = `DELETE FROM pack_stay y USING unnest($1::text[], $2::bigint[]) AS left_one (container, position)
  WHERE y.container = left_one.container AND y.position = left_one.position AND NOT EXISTS (
    SELECT FROM pack_state s WHERE s.container = y.container AND s.position = y.position)`;

/** A stay goes with the last item that has it. */
async function dropEmptyStays(tx: Transaction, stays: StayKeys): Promise<void> {
  const left = stays.all();
  if (left.length === 0) return;
  await tx.query(DROP, [left.map(({ container }) => container), left.map(({ position }) => position)]);
}
