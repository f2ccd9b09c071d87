import { typeKnowledge, type TypeKnowledge } from '#documents';
import { neverReached } from '#kernel';
import {
  containerStream,
  ssccOfStream,
  type ContainerContentUnavailable,
  type ContainerContentWithheld,
  type ContainerEvent,
  type WithheldReason,
} from '#domain';
import { typedEvents, type EventStore, type RecordedEvent } from '#event-store';
import type { Queryable, Transaction } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';
import { Entity } from '../entity.js';
import { loadPlaceMoves } from '../pack-state/load.js';
import { JOIN_STAY, nowOf, PLACE, placesLeadingTo, SELECT_NOW, type StateAndStay } from '../pack-state/now.js';
import type { HistoryQuery } from '../port.js';
import { column, Table } from '../table.js';
import { wholeStream } from '../document-timeline/whole-stream.js';

/** One time that the registry was asked what lies in a container. */
@Entity('content_question')
export class ContentQuestion {
  @column('bigint', { primary: true }) askedFrom!: bigint;
  @column('text') sscc!: string;
  /** The incoming document because of which it was asked. */
  @column('text') documentId!: string;
  @column('text') account!: string;
  @column('timestamptz') askedAt!: Date;
  @column('text') standing!: 'asked' | 'told' | 'unavailable';
  @column('text', { nullable: true }) reason!: WithheldReason | null;
  @column('bigint', { nullable: true }) reasonFrom!: bigint | null;
  @column('integer') attempts!: number;
  @column('bigint', { nullable: true }) endedFrom!: bigint | null;
}

export const CONTENT_QUESTION = new Table(ContentQuestion);

export type ContainerNews = RecordedEvent & ContainerEvent;

const OPEN = `SELECT ${CONTENT_QUESTION.select()} FROM content_question
  WHERE sscc = ANY ($1::text[]) AND standing = 'asked'`;

/** Brings the questions up to date with the news of a page. */
export async function writeQuestions(tx: Transaction, news: readonly ContainerNews[]): Promise<void> {
  if (news.length === 0) return;
  const asked = await tx.query<ContentQuestion>(OPEN, [[...new Set(news.map(({ stream }) => ssccOfStream(stream)))]]);
  const open = new Map(asked.rows.map((row) => [row.sscc, row]));
  const changed = new Map<bigint, ContentQuestion>();
  for (const event of news) {
    const sscc = ssccOfStream(event.stream);
    const row = afterNews(open.get(sscc), event);
    changed.set(row.askedFrom, row);
    open.set(sscc, row);
  }
  await CONTENT_QUESTION.write(tx, [...changed.values()]);
}

function afterNews(open: ContentQuestion | undefined, event: ContainerNews): ContentQuestion {
  const { position } = event;
  if (event.type === 'ContainerContentAsked') {
    const { sscc, account, arrival } = event.data;
    return {
      ...{ askedFrom: position, sscc, documentId: arrival.documentId, account, askedAt: event.recordedAt },
      ...{ standing: 'asked', reason: null, reasonFrom: null, attempts: 0, endedFrom: null },
    };
  }
  if (open === undefined) throw new Error(`${event.type} at position ${position} of ${event.stream}: nobody asked`);
  switch (event.type) {
    case 'ContainerContentWithheld':
      return withheld(open, event);
    case 'ContainerContentObserved':
      return { ...open, standing: 'told', endedFrom: position };
    case 'ContainerContentUnavailable':
      return { ...withheld(open, event), standing: 'unavailable', endedFrom: position };
    default:
      return neverReached(event, 'container event');
  }
}

function withheld(
  open: ContentQuestion,
  { data, position }: RecordedEvent & (ContainerContentWithheld | ContainerContentUnavailable),
): ContentQuestion {
  const { reason, attempts } = data;
  return { ...open, reason, reasonFrom: open.reason === reason ? open.reasonFrom : position, attempts };
}

const NEWEST = `SELECT DISTINCT ON (sscc) ${CONTENT_QUESTION.select()} FROM content_question
  WHERE sscc = ANY ($1::text[]) ORDER BY sscc, asked_from DESC`;

/** The newest question about each of these containers, as it stood at a log position or an instant, or stands now. */
export async function questionsAbout(
  { db, store }: { db: Queryable; store: Pick<EventStore, 'readStream'> },
  ssccs: readonly string[],
  knownAt: HistoryQuery['knownAt'] | undefined,
): Promise<Map<string, ContentQuestion>> {
  const { rows } = await db.query<ContentQuestion>(NEWEST, [ssccs]);
  if (knownAt === undefined) return new Map(rows.map((row) => [row.sscc, row]));
  const questions = new Map<string, ContentQuestion>();
  for (const { sscc } of rows) {
    const then = await questionThen(store, sscc, knownAt);
    if (then !== undefined) questions.set(sscc, then);
  }
  return questions;
}

/** Its row tells only how it stands now: the container's own stream tells what was asked and answered by then. */
async function questionThen(
  store: Pick<EventStore, 'readStream'>,
  sscc: string,
  knownAt: bigint | Date,
): Promise<ContentQuestion | undefined> {
  const events = typedEvents<ContainerNews>(await wholeStream(store, containerStream(sscc)));
  return events
    .filter(({ position, recordedAt }) => (typeof knownAt === 'bigint' ? position : recordedAt) <= knownAt)
    .reduce<ContentQuestion | undefined>(afterNews, undefined);
}

/** Nothing lies in this container now, as far as our record tells. */
const holdsNothing = (sscc: string): string => `NOT EXISTS (SELECT FROM pack_state s ${JOIN_STAY}
    WHERE s.container = ${sscc} AND y.ended_position IS NULL)`;

/** $1: containers. */
const HOLD_NOTHING = `SELECT coalesce((SELECT position FROM checkpoint WHERE name = $2), 0) AS "upTo", ARRAY(
    SELECT sscc FROM unnest($1::text[]) WITH ORDINALITY AS named (sscc, n)
    WHERE ${holdsNothing('sscc')} ORDER BY n) AS unknown`;

/**
 * Those of these containers in which, by our record, nothing lies: what came to us in them is not known. `upTo`: how
 * far the log has been read, of the same moment.
 */
export async function containersOfUnknownContent(
  db: Queryable,
  ssccs: readonly string[],
): Promise<{ upTo: bigint; unknown: string[] }> {
  const values = [ssccs, projectionCheckpoint({ name: 'sgtin-history' })];
  const { rows } = await db.query<{ upTo: bigint; unknown: string[] }>(HOLD_NOTHING, values);
  return rows[0] ?? { upTo: 0n, unknown: [] };
}

const { known, bringsGoods, receivesGoods } = typeKnowledge;
/** Types of what tells us that goods come. */
export const ANNOUNCES = known.filter(bringsGoods).join(', ');
/** The movements that brought a container to us, asked about or not; `m` and `d` are theirs. */
export const thatBrought = (sscc: string, counts: string): string => `FROM item_movement m
    JOIN movement_effect e USING (known_from, effect) JOIN movement_document d USING (known_from)
    WHERE m.item = ${sscc} AND e.result = 'applied' AND ${counts}
      AND d.doc_type IN (${ANNOUNCES}, ${known.filter(receivesGoods).join(', ')})`;

/**
 * When a container last came with what the registry told of one around it: such an answer tells all that lies in that,
 * however deep. OFFSET 0 keeps it to looks into indexes.
 */
export const toldWithin = (sscc: string, counts: string): string => `(SELECT max(came.at) FROM item_movement m
    CROSS JOIN LATERAL (SELECT d.document_id FROM movement_document d
      WHERE d.known_from = m.known_from AND d.channel = 'registry_answer' AND ${counts} OFFSET 0) AS answer
    CROSS JOIN LATERAL (SELECT max(d.ordered_at) AS at FROM movement_document d
      WHERE d.document_id = answer.document_id AND ${counts} OFFSET 0) AS came
    WHERE m.item = ${sscc})`;

/** The movements by which a container was opened, so that it held nothing; `d` is of their documents. */
const thatOpened = (sscc: string): string => `FROM item_movement m JOIN movement_effect e USING (known_from, effect)
      JOIN movement_document d USING (known_from)
      WHERE m.item = ${sscc} AND e.containment IN ('opened', 'opened_all') AND d.known_to IS NULL`;
/** When a container came because of which it was asked about; `q` is the question. */
const ARRIVAL = `coalesce((SELECT max(came.ordered_at) FROM movement_document came
            WHERE came.document_id = q.document_id COLLATE "C" AND came.known_to IS NULL), q.asked_at)`;

const NOW_COUNTS = 'd.known_to IS NULL';

/**
 * The newest question about a container counts: one that was given up may be told when the container comes again, also
 * by an answer about one around it. What lay in one that was opened since it last came is in it no more: `isToldEmpty`
 * has the same rule.
 */
const AT_PLACES = `FROM content_question q JOIN pack_state s ON s.item = q.sscc ${JOIN_STAY}
  WHERE q.standing <> 'told' AND ${PLACE} = ANY ($1::text[]) AND ${holdsNothing('q.sscc')}
    AND NOT EXISTS (SELECT FROM content_question later WHERE later.sscc = q.sscc AND later.asked_from > q.asked_from)
    AND NOT EXISTS (SELECT ${thatOpened('q.sscc')}
        AND d.ordered_at > greatest((SELECT max(d.ordered_at) ${thatBrought('q.sscc', NOW_COUNTS)}), ${ARRIVAL}))
    AND NOT coalesce(${toldWithin('q.sscc', NOW_COUNTS)} >= greatest(
        (SELECT max(d.ordered_at) ${thatBrought('q.sscc', NOW_COUNTS)} AND d.doc_type IN (${ANNOUNCES})), ${ARRIVAL}),
      false)`;

const COUNT_AT_PLACES = `SELECT count(*)::int AS containers ${AT_PLACES}`;

/**
 * Something was in the container when it last came, by our record; or ever was, where it never came. OFFSET 0 keeps it
 * to one look for each packing: else all documents would be read for each container.
 */
const HELD_WHEN_IT_CAME = `EXISTS (SELECT FROM containment c CROSS JOIN LATERAL (
        SELECT ordered_at FROM movement_document WHERE known_from = c.known_from AND known_to IS NULL OFFSET 0) AS p
      WHERE c.parent = unit.item AND (opened.at IS NULL OR p.ordered_at > opened.at)
        AND (brought.came IS NULL OR p.ordered_at < brought.came AND NOT EXISTS (
          SELECT FROM item_movement m JOIN movement_effect e USING (known_from, effect)
          JOIN movement_document d USING (known_from)
          WHERE m.item = c.child AND e.containment IS NOT NULL AND d.known_to IS NULL
            AND d.ordered_at > p.ordered_at AND d.ordered_at < brought.came)))`;

/** When a container came because of which the registry has told of it, or of one around it. */
const TOLD_AT = "greatest(inside.at, CASE asked.standing WHEN 'told' THEN asked.at END)";

/** The rule of `isToldEmpty` as it is now, of a container `unit` in which nothing lies. */
const IS_TOLD_EMPTY = `(SELECT coalesce(opened.at > greatest(brought.came, asked.at), opened.at IS NOT NULL)
      OR coalesce(${TOLD_AT} >= greatest(brought.announced, asked.at), ${TOLD_AT} IS NOT NULL)
      OR coalesce(asked.standing, 'told') = 'told' AND ${HELD_WHEN_IT_CAME}
    FROM (SELECT max(d.ordered_at) AS at ${thatOpened('unit.item')}) AS opened
    CROSS JOIN (
      SELECT max(d.ordered_at) AS came, max(d.ordered_at) FILTER (WHERE d.doc_type IN (${ANNOUNCES})) AS announced
      ${thatBrought('unit.item', NOW_COUNTS)}) AS brought
    CROSS JOIN (SELECT ${toldWithin('unit.item', NOW_COUNTS)} AS at) AS inside
    LEFT JOIN (SELECT q.standing, ${ARRIVAL} AS at FROM content_question q WHERE q.sscc = unit.item
      ORDER BY q.asked_from DESC LIMIT 1) AS asked ON true)`;

/**
 * Most containers were opened by their last own document, and did not come again since: they are left out as a set.
 * OFFSET 0 keeps what is asked of each other one behind that.
 */
const UNKNOWN_NOW = `SELECT count(*)::int AS containers FROM (
    SELECT unit.item FROM pack_state unit
    WHERE length(unit.item) = 18 AND ${holdsNothing('unit.item')}
      AND NOT EXISTS (SELECT FROM movement_effect e JOIN item_movement m USING (known_from, effect)
        WHERE e.containment IN ('opened', 'opened_all') AND m.item = unit.item AND m.known_from = unit.position)
    OFFSET 0) AS unit
  WHERE NOT ${IS_TOLD_EMPTY}`;

/** How many containers have a content that nobody told, wherever they are. */
export const unknownContents = async (db: Queryable): Promise<number> =>
  (await db.query<{ containers: number }>(UNKNOWN_NOW)).rows[0]?.containers ?? 0;

/** How many containers at a place, or on their way to it, have a content that nobody told. */
export async function unknownContentsAt(
  db: Queryable,
  place: string,
  types: Pick<TypeKnowledge, 'statusAfter'>,
): Promise<number> {
  const moves = await loadPlaceMoves(db);
  if (moves.length === 0) {
    // Each check of packs asks this: planned anew, it would take longer than to be answered.
    const query = { name: 'unknown-contents-at', text: COUNT_AT_PLACES, values: [[place]] };
    return (await db.query<{ containers: number }>(query)).rows[0]?.containers ?? 0;
  }
  const { rows } = await db.query<StateAndStay>(`SELECT ${SELECT_NOW} ${AT_PLACES}`, [placesLeadingTo([place], moves)]);
  return (await nowOf(db, rows, types)).filter((container) => container.place === place).length;
}

/** Questions without an answer, for metrics. */
export type UnknownContentFigures = Record<'asked' | 'unavailable', number>;

const FIGURES = `SELECT count(*) FILTER (WHERE standing = 'asked')::int AS asked,
    count(*) FILTER (WHERE standing = 'unavailable')::int AS unavailable
  FROM content_question WHERE standing <> 'told'`;

export async function unknownContentFigures(db: Queryable): Promise<UnknownContentFigures> {
  return (await db.query<UnknownContentFigures>(FIGURES)).rows[0] ?? { asked: 0, unavailable: 0 };
}
