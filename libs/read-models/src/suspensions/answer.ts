import {
  documentStream,
  evolveSuspension,
  holdingDecisions,
  isInForce,
  looksAlike,
  NO_SUSPENSION,
  suspensionStream,
  type CirculationDecision,
  type ProductSeries,
  type SuspensionEvent,
  type UnnamedEntries,
} from '#domain';
import { typedEvent, type EventStore, type RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { PedigreeError, type Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { wholeStream } from '../document-timeline/whole-stream.js';
import { present } from '../list-page.js';
import type { SuspensionAnswer, SuspensionQuestion } from '../port.js';
import { suspensionsUpTo } from './in-force.js';
import { listHeldAt, listVersionOf } from './query.js';

export interface AnswerOptions {
  pool: Queryable;
  store: Pick<EventStore, 'readStream'>;
  evidence: Pick<EvidenceStore, 'get'>;
}

type Evidence = Pick<EvidenceStore, 'get'>;
interface Content {
  series?: ProductSeries[];
  decisions?: CirculationDecision[];
  unnamed?: UnnamedEntries;
}

/**
 * The content of a version of either list, from its bytes: of the list of suspensions its series alone, where all its
 * entries have an id. @throws Error when the bytes are not stored.
 */
async function contentOf(evidence: Evidence, sha256: Sha256): Promise<Content> {
  const found = await evidence.get(sha256);
  if (found === undefined) throw new Error(`the version ${sha256} of the list of suspensions is not stored`);
  const content = JSON.parse(found.bytes.toString()) as Content | ProductSeries[];
  return Array.isArray(content) ? { series: content } : content;
}

/** The series of a version of the list. */
export async function suspendedSeries(evidence: Evidence, sha256: Sha256): Promise<ProductSeries[]> {
  return (await contentOf(evidence, sha256)).series as ProductSeries[];
}

/** The decisions of a version of their list. */
export async function toldDecisions(evidence: Evidence, sha256: Sha256): Promise<CirculationDecision[]> {
  return (await contentOf(evidence, sha256)).decisions as CirculationDecision[];
}

/** The entries without an id of a version of either list. Content of before this was kept tells none. */
export async function unnamedOfList(evidence: Evidence, sha256: Sha256): Promise<UnnamedEntries> {
  return (await contentOf(evidence, sha256)).unnamed ?? {};
}

/** Whether the newest list of decisions of then suspends a series; empty: none was held. */
async function decidedAt({ pool, evidence }: AnswerOptions, one: ProductSeries, at: Date) {
  const held = await listHeldAt(pool, 'decisions', at);
  if (held === undefined) return { holding: [], told: {} };
  const holding = holdingDecisions(await toldDecisions(evidence, held.listSha256), held.fetchedAt);
  return {
    holding,
    told: {
      decided: holding.some((other) => isSame(other, one)),
      decisions: { ...listVersionOf(held), ageSeconds: ageOf(held, at) },
    },
  };
}

const isSame = (other: ProductSeries, { gtin, series }: ProductSeries): boolean =>
  other.gtin === gtin && other.series === series;

/** Of another series of the product that only looks the same. */
const isAlike = (other: ProductSeries, { gtin, series }: ProductSeries): boolean =>
  other.gtin === gtin && looksAlike(other.series, series);

/** Each once, in one order. */
const alikeOf = (held: readonly ProductSeries[], one: ProductSeries): string[] =>
  [...new Set(held.filter((other) => isAlike(other, one)).map(({ series }) => series))].sort();

/**
 * Whether a series was suspended at a moment, by what we held then: the newest lists, read from their own bytes, and
 * the letters that were entered by then. Nothing that came later speaks in it.
 * @throws PedigreeError `not_found` for a document that the registry cannot have.
 */
export async function answerSuspension(
  options: AnswerOptions,
  { gtin, series, at: given, requestId }: SuspensionQuestion,
  now: Date,
): Promise<SuspensionAnswer> {
  // Read first: what comes meanwhile may be missing, and is not claimed.
  const knownAt = String(await suspensionsUpTo(options.pool));
  const at = requestId === undefined ? (given ?? now) : await sentAt(options.store, requestId);
  const held = await listHeldAt(options.pool, 'list', at);
  const named = held === undefined ? [] : await suspendedSeries(options.evidence, held.listSha256);
  const one = { gtin, series };
  const listed = named.some((other) => isSame(other, one));
  const { holding, told } = await decidedAt(options, one, at);
  const { ids: inForce, matches } = await inForceAt(options, one, at);
  return {
    ...{ ...one, at: at.toISOString(), ...present({ requestId }) },
    suspended: listed || told.decided === true || inForce.length > 0,
    ...(held === undefined ? {} : { listed, list: { ...listVersionOf(held), ageSeconds: ageOf(held, at) } }),
    ...told,
    inForce,
    lookAlikes: alikeOf([...named, ...holding, ...matches], one),
    knownAt,
    suspendedNow: (await inForceAt(options, one, now)).ids.length > 0,
  };
}

const ageOf = ({ fetchedAt }: { fetchedAt: Date }, at: Date): number => (at.getTime() - fetchedAt.getTime()) / 1_000;

/** When a document was sent. */
async function sentAt(store: AnswerOptions['store'], requestId: string): Promise<Date> {
  const sent = sentBy(await wholeStream(store, documentStream(requestId)));
  if (sent === undefined)
    throw new PedigreeError('not_found', `the document ${requestId} was never sent, or no attempt has arrived`, {
      ...{ field: 'document', item: requestId },
    });
  return sent.recordedAt;
}

/** Ends of an attempt after which it is known that the registry took nothing. */
const TOOK_NOTHING = ['SendNotDelivered', 'SendAbsenceProven', 'SendRefused'];

/** The intent of the attempt by which the registry has a document, or may have it. */
function sentBy(events: RecordedEvent[]): RecordedEvent | undefined {
  const attempts = events.filter(({ type }) => type === 'SendAttempted');
  const sent = events.find(({ type }) => type === 'DocumentSent');
  if (sent !== undefined) return attempts.findLast(({ data }) => data['attempt'] === sent.data['attempt']) ?? sent;
  // The registry has one that was ended as not sent.
  if (events.some(({ type }) => type === 'DuplicateDetected')) return attempts.at(-1);
  const newest = events.findLast(({ type }) => type === 'SendAttempted' || TOOK_NOTHING.includes(type));
  return newest?.type === 'SendAttempted' ? newest : undefined;
}

/**
 * Suspensions of a series that counted with us at a moment, from their streams up to then; and what they and those of
 * series that only look the same were matched with.
 */
async function inForceAt({ pool, store }: AnswerOptions, one: ProductSeries, at: Date) {
  const { rows } = await pool.query<{ id: string; matched: ProductSeries[] }>(
    'SELECT suspension_id AS id, matched FROM suspension WHERE matched @> $1::jsonb ORDER BY opened_position',
    [JSON.stringify([{ gtin: one.gtin }])],
  );
  const concerned = rows.filter(({ matched }) => matched.some((other) => isSame(other, one) || isAlike(other, one)));
  const standing = await Promise.all(
    concerned.map(async ({ id }) => {
      const events = (await wholeStream(store, suspensionStream(id))).filter(({ recordedAt }) => recordedAt <= at);
      const state = events.map(typedEvent<SuspensionEvent>).reduce(evolveSuspension, NO_SUSPENSION);
      return state.phase === 'absent' || !isInForce(state) ? [] : [{ id, matches: state.matches }];
    }),
  );
  const held = standing.flat();
  return {
    ids: held.filter(({ matches }) => matches.some((other) => isSame(other, one))).map(({ id }) => id),
    matches: held.flatMap(({ matches }) => matches),
  };
}
