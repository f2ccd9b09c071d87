import { typeKnowledge } from '#documents';
import { arrayText, type Transaction } from '#postgres';
import { toldBy, useOf } from '../sgtin-history/doubtful-parts.js';
import type { Movements } from '../sgtin-history/movements.js';
import { seriesOf, type PlaceMove, type StayKey } from './fold.js';
import { leavesOpen } from './load.js';
import { isPlace, toldWithin, type Lives, type Told } from './lives.js';
import { JOIN_STAY, movesAsked, nextMove, PLACE, STATUS } from './now.js';
import { transferAfter, type TransferStep } from './transfer.js';

/** What a page says, and what must be known to bring rows up to date without the lives of their items. */
export interface Plain {
  movements: readonly Movements[];
  /** When the registry accepted each document that is not recalled, by log position. */
  acceptedOf: ReadonlyMap<bigint, bigint>;
  /** Lives of the containers into which these documents pack. */
  lives: Lives;
  /** Items that more than one of its movements may have moved. */
  namedTwice: ReadonlySet<string>;
  /** Called while the database works, and the program has nothing to do. */
  onWaiting: () => void;
  /** Items of which more has changed. */
  without: ReadonlySet<string>;
  /** Containers that the page moves: what happened to their content is not written yet. */
  moving: readonly string[];
  placeMoves: readonly PlaceMove[];
  /** A document known before was accepted after one of these. */
  isLate: boolean;
}

/** Items whose lives must be read, and the stays that all others have entered and left. */
export interface Appended {
  others: Set<string>;
  entered: StayKey[];
  left: StayKey[];
}

/** What one document did to some of its items. */
interface Done extends Omit<StayKey, 'container'> {
  /** What it leaves open, and what it tells, as bits. */
  opened: number;
  told: number;
  /** It says in which container the item is then, if in any. */
  tellsContainer: boolean;
  step: TransferStep['step'] | undefined;
  transfer: string | null;
  status: string | undefined;
  place: string | undefined;
  container: string | undefined;
  series: string | null;
  expiresOn: string | null;
  seriesFrom: bigint | null;
  items: number;
}

const { suspended, inTrade, then } = typeKnowledge.suspension;
const isOneOf = (status: string, words: readonly string[]): string =>
  `coalesce(${status} IN (${words.map((one) => `'${one}'`).join(', ')}), false)`;

/** Whether the document that told the series before told it of the pack itself, and not of what held it. */
const TOLD_OF_ITSELF = `EXISTS (SELECT FROM item_movement m JOIN movement_effect e USING (known_from, effect)
  WHERE m.item = p.item AND m.known_from = p.series_from_before AND e.result <> 'refused')`;

/** Each column of the row after, from the row before and its stay. */
const AFTER: readonly [column: string, after: string][] = [
  ['item', 'p.item'],
  ['at_micros', 'p.at_micros'],
  ['position', 'p.position'],
  ['first_from', 'coalesce(p.first_from, p.position)'],
  ['status', 'p.status_after'],
  ['status_from', 'CASE WHEN p.status IS NULL THEN p.status_from_before ELSE p.position END'],
  ['place', 'coalesce(p.place, p.place_before)'],
  ['place_from', 'CASE WHEN p.place IS NULL THEN p.place_from_before ELSE p.position END'],
  ['doubt_from', 'CASE WHEN p.opened <> 0 THEN p.position WHEN p.doubts_before & ~p.told <> 0 THEN p.doubt_before END'],
  ['doubts', 'nullif((p.doubts_before & ~p.told) | p.opened, 0::smallint)'],
  ['transfer', 'p.transfer_after'],
  ['suspended', isOneOf('p.status_after', suspended)],
  [
    'suspended_from',
    `CASE WHEN NOT ${isOneOf('p.status_after', suspended)} THEN NULL
      WHEN ${isOneOf('p.status_before', suspended)} THEN p.suspended_from_before ELSE p.position END`,
  ],
  ['container', 'p.container'],
  ['series', 'coalesce(p.series, p.series_before)'],
  ['expires_on', 'coalesce(p.expires_on, p.expires_before)'],
  [
    'series_from',
    `CASE WHEN p.series IS NOT NULL AND (p.series IS DISTINCT FROM p.series_before OR NOT ${TOLD_OF_ITSELF})
      OR p.series_before IS NULL AND p.expires_on IS NOT NULL THEN p.series_from ELSE p.series_from_before END`,
  ],
];

/**
 * The row of an item after one more document, from the row before and its stay, where that document came after all that
 * is known of the item: the same that `packState` makes of its life. $1 and $2: items, and which of the rows from $3 on
 * tells of each; $14: containers that move; $15, $20 and $21: moves of whole places; $16: some document is late.
 * Answers with the items that were left out, and the stays that others have left. Rows that are there are updated by
 * where they lie: this transaction alone writes them, and an upsert would search, lock and log each of them once more.
 */
const APPEND = `
WITH done AS (
  SELECT * FROM unnest($3::int[], $4::bigint[], $5::bigint[], $6::smallint[], $7::boolean[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::date[], $13::bigint[], $17::text[], $18::text[], $19::smallint[])
    AS done (number, at_micros, position, opened, tells_container, status, place, container, series, expires_on,
      series_from, step, transfer, told)
), given AS (
  SELECT named.item, done.* FROM unnest($1::text[], $2::int[]) AS named (item, number) JOIN done USING (number)
), before AS (
  SELECT g.*, s.ctid AS row, s.first_from, s.series AS series_before, s.expires_on AS expires_before,
    s.series_from AS series_from_before, s.container AS left_container, s.position AS left_position,
    s.at_micros AS left_micros, ${nextMove(['$15', '$20', '$21'])} AS next_move,
    ${STATUS} AS status_before,
    coalesce(y.status_from, s.status_from) AS status_from_before,
    CASE WHEN s.suspended THEN coalesce(y.paused_from, s.suspended_from) ELSE y.suspended_from END
      AS suspended_from_before,
    ${PLACE} AS place_before,
    coalesce(y.place_from, s.place_from) AS place_from_before,
    coalesce(s.transfer, y.transfer) AS transfer_before,
    coalesce(y.doubt_from, s.doubt_from) AS doubt_before,
    (coalesce(s.doubts, 0::smallint) & ~coalesce(y.told, 0::smallint)) | coalesce(y.doubts, 0::smallint)
      AS doubts_before,
    NOT EXISTS (SELECT FROM series_told t WHERE t.item = g.item AND t.item <> '')
      AND (s.item IS NULL OR (s.at_micros, s.position) < (g.at_micros, g.position))
      AND (s.container IS NULL OR g.tells_container AND y.container IS NOT NULL AND s.container <> ALL ($14::text[])
        AND NOT $16 AND s.transfer IS NULL) AS is_next
  FROM given g LEFT JOIN pack_state s ON s.item = g.item ${JOIN_STAY}
), after AS (
  SELECT *, CASE WHEN ${isOneOf('status_before', suspended)} AND ${isOneOf('status', inTrade)} THEN '${then}'
      ELSE coalesce(status, status_before) END AS status_after,
    CASE WHEN step IS NULL THEN transfer_before ELSE transfer END AS transfer_after
  FROM before
), judged AS MATERIALIZED (
  -- What goes into a container on its way is followed by itself there.
  SELECT *, is_next AND (container IS NULL OR transfer_after IS NULL)
      AND (step IS NULL OR transfer_before IS NULL OR transfer IS NOT NULL
        OR step = 'ends' AND transfer_before LIKE 'direct %')
      AND next_move IS NULL AS is_plain
  FROM after
), updated AS (
  UPDATE pack_state s SET ${AFTER.map(([column, after]) => `${column} = ${after}`).join(', ')}
  FROM judged p WHERE s.ctid = p.row AND p.is_plain
), added AS (
  INSERT INTO pack_state (${AFTER.map(([column]) => column).join(', ')})
  SELECT ${AFTER.map(([, after]) => after).join(', ')} FROM judged p WHERE p.row IS NULL AND p.is_plain
)
SELECT item, number, NULL AS container, NULL::bigint AS position, NULL::bigint AS at_micros
FROM judged WHERE NOT is_plain
UNION ALL
SELECT DISTINCT NULL, NULL::int, left_container, left_position, left_micros FROM judged
WHERE is_plain AND left_container IS NOT NULL`;

interface AnswerRow {
  item: string | null;
  number: number | null;
  container: string | null;
  position: bigint | null;
  at_micros: bigint | null;
}

/** Brings up to date what follows from the rows before: items that the page names once. */
export async function appendPlain(tx: Transaction, page: Plain): Promise<Appended> {
  const { done, items, numbers, others } = namedOnce(page);
  const column = <K extends keyof Done>(name: K): Done[K][] => done.map((one) => one[name]);
  const [places, moments, positions] = movesAsked(page.placeMoves);
  const appended = tx.query<AnswerRow>(APPEND, [
    ...[arrayText(items), arrayText(numbers), done.map((_, number) => number)],
    ...[column('atMicros'), column('position'), column('opened'), column('tellsContainer'), column('status')],
    ...[column('place'), column('container'), column('series'), column('expiresOn'), column('seriesFrom')],
    ...[page.moving, places, page.isLate, column('step'), column('transfer'), column('told')],
    ...[moments, positions],
  ]);
  page.onWaiting();
  const { rows } = await appended;
  const left: StayKey[] = [];
  for (const { item, number, container, position, at_micros: atMicros } of rows) {
    if (container !== null && position !== null && atMicros !== null) left.push({ container, position, atMicros });
    if (item === null || number === null) continue;
    others.add(item);
    (done[number] as Done).items -= 1;
  }
  const entered = done.flatMap(({ container, position, atMicros, items }) =>
    container === undefined || items === 0 ? [] : [{ container, position, atMicros }],
  );
  return { others, entered, left };
}

interface Named {
  done: Done[];
  /** What is named once, and the place in `done` of each. */
  items: string[];
  numbers: number[];
  others: Set<string>;
}

/** Items that the page names once and says nothing more of; of documents whose acceptance is known. */
function namedOnce({ movements, acceptedOf, without, lives, namedTwice }: Plain): Named {
  const named: Named = { done: [], items: [], numbers: [], others: new Set() };
  const toldAlone = new Set(movements.flatMap(({ series }) => series.flatMap(({ item }) => item ?? [])));
  for (const one of movements) {
    const numberOf = numbering(one, { done: named.done, atMicros: acceptedOf.get(one.document.knownFrom), lives });
    for (const { item, effect } of one.items) {
      const number = numberOf(effect, item);
      if (number === 'moves nothing' || isPlace(item)) continue;
      if (number === 'more to read' || namedTwice.has(item) || without.has(item) || toldAlone.has(item)) {
        named.others.add(item);
        continue;
      }
      named.items.push(item);
      named.numbers.push(number);
      (named.done[number] as Done).items += 1;
    }
  }
  return named;
}

type NotDone = 'moves nothing' | 'more to read';

/** Tells where in `done` an effect of this document on an item of some product is; it is added when it comes first. */
function numbering(
  { document, effects, series }: Movements,
  { done, atMicros, lives }: { done: Done[]; atMicros: bigint | undefined; lives: Lives },
): (effect: number, item: string) => number | NotDone {
  const counts = document.outcome === 'accepted' || document.outcome === 'partial';
  const said = counts ? series.filter(({ item }) => item === undefined) : [];
  const told = said.map(toldAt({ atMicros: atMicros ?? 0n, position: document.knownFrom }));
  const known = new Map<number | string, number | NotDone>();
  const numberOf = (effect: number, item: string): number | NotDone => {
    const what = effects[effect];
    if (what?.result === 'refused') return 'moves nothing';
    // A query may tell a series, of what other documents have moved.
    if (typeKnowledge.movesNothing(document.docType)) return 'more to read';
    // What is left of a pack is in no row: how much earlier parts were is in its life.
    if (what?.part !== undefined || what === undefined || atMicros === undefined) return 'more to read';
    const one = doneBy(what, { document, atMicros, told: toldWithin(told, item) });
    if (what.container !== undefined && lives.isToldSince({ ...one, container: what.container })) return 'more to read';
    return done.push(one) - 1;
  };
  return (effect, item) => {
    const key = told.length === 0 ? effect : `${effect} ${item.slice(0, GTIN_LENGTH)}`;
    const number = known.get(key) ?? numberOf(effect, item);
    known.set(key, number);
    return number;
  };
}

function doneBy(
  effect: Movements['effects'][number],
  { document, atMicros, told }: Pick<Movements, 'document'> & { atMicros: bigint; told: readonly Told[] },
): Done {
  const { knownFrom: position, docType, subjectId: subject, counterpartyId: counterparty = null } = document;
  const { status, place, container, containment } = effect;
  const isDoubt = effect.result === 'undetermined';
  const step = isDoubt ? undefined : typeKnowledge.transferOf(docType);
  const transfer = step === undefined ? null : transferAfter(null, { step, subject, counterparty }).transfer;
  const moved = isDoubt ? { status: undefined, place: undefined } : { status, place };
  const use = useOf(docType, typeKnowledge);
  return {
    ...{
      atMicros,
      position,
      opened: isDoubt ? leavesOpen(docType, { isInside: false }) : 0,
      told: isDoubt ? 0 : toldBy(effect, { isInside: false, use }),
      tellsContainer: containment !== undefined,
      container,
      items: 0,
    },
    ...{ step, transfer, ...moved, ...seriesOf(told) },
  };
}

const GTIN_LENGTH = 14;
const toldAt =
  (moment: Omit<StayKey, 'container'>) =>
  ({ gtin = '', series, expiresOn }: Movements['series'][number]): Told => ({
    ...{ ...moment, item: '', gtin, series: series ?? null, expiresOn: expiresOn ?? null },
  });
