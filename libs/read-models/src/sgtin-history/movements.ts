import { requestIdOfStream, type ConclusionRevised, type DocumentConcluded, type FailureCause } from '#domain';
import type { RecordedEvent } from '#event-store';
import {
  fitsRecord,
  MOST_NAMINGS,
  RECALL,
  type DocumentFacts,
  type DocumentItem,
  type ItemEffect,
  type ReceiptFacts,
  type SeriesTold,
} from '#documents';
import { neverReached, type Sha256 } from '#kernel';
import type { ItemMovementRow, MovementDocument, MovementEffectRow } from './row.js';

export type Conclusion = RecordedEvent & (DocumentConcluded | ConclusionRevised);

/**
 * What reads documents of ours: the functions of #documents that this read model needs, so that a test or a cache can
 * stand in.
 */
export interface OwnReading {
  /** The digest names the bytes, so that what was read before need not be read again. */
  readDocument(bytes: Uint8Array, sha256: Sha256): DocumentFacts;
  readReceipt(bytes: Uint8Array): ReceiptFacts;
  effectsOf(facts: DocumentFacts, receipt: ReceiptFacts): ItemEffect[];
}

/** The same for documents that we did not send, too. */
export interface DocumentReading extends OwnReading {
  readForeignDocument(bytes: Uint8Array): DocumentFacts;
  foreignEffectsOf(facts: DocumentFacts, receipt: ReceiptFacts | undefined): ItemEffect[];
  /** The status after a movement, by the status before it. */
  statusAfter(before: string | undefined, moved: string): string;
}

/** What the evidence of a conclusion says. */
export interface ReadEvidence {
  facts: DocumentFacts;
  receipt: ReceiptFacts | undefined;
}

/** What a document did to some of its items. */
type MovementEffect = Omit<MovementEffectRow, 'knownFrom' | 'effect'>;

/** Everything one conclusion writes. `effect` is the index of the item's effect in `effects`. */
export interface Movements {
  document: MovementDocument;
  effects: MovementEffect[];
  items: ItemMovementRow[];
  /** What it says of series and expiry. */
  series: SeriesTold[];
}

/**
 * What a concluded document did to each of its items. Pure. A document that ended `failed` has no receipt and moved
 * nothing; its items carry the refused attempt with its cause, because an auditor asks for attempts too.
 */
export function movementsOf(
  event: Conclusion,
  read: ReadEvidence,
  reading: Pick<DocumentReading, 'effectsOf'>,
): Movements {
  return { ...gather(documentRow(event, read.facts), itemEffectsOf(event, read, reading)), series: seriesIn(read) };
}

/** What the document, and an answer in place of its receipt, say of series and expiry. */
export const seriesIn = ({ facts, receipt }: ReadEvidence): SeriesTold[] =>
  [...(facts.series ?? []), ...(receipt?.series ?? [])].filter(isKept);

/** Whether packs can be found by what is said. */
export const isKept = ({ item = '', series = '' }: SeriesTold): boolean => fitsRecord(item) && fitsRecord(series);

/**
 * The rows of a document with these effects: equal ones are stored once. A document for which there is no room
 * (`mustFitRecord`) may be in a log of an earlier version: of an item what has a number is kept.
 */
export function gather(told: Omit<MovementDocument, 'items'>, itemEffects: ItemEffect[]): Omit<Movements, 'series'> {
  const { knownFrom } = told;
  const effects: MovementEffect[] = [];
  const numbers = new Map<string, number>();
  const seen = new Map<string, number>();
  let [before, effect]: [MovementEffect | undefined, number] = [undefined, 0];
  const items: ItemMovementRow[] = [];
  for (const itemEffect of itemEffects) {
    const { id: item } = itemEffect.item;
    const ordinal = seen.get(item) ?? 0;
    if (ordinal === MOST_NAMINGS || !fitsRecord(item)) continue;
    seen.set(item, ordinal + 1);
    const one = effectOf(itemEffect);
    // Most items of a document have the effect of the item before.
    if (before === undefined || !isSame(before, one)) effect = effectNumber(one, effects, numbers);
    before = one;
    items.push({ knownFrom, effect, ordinal, item });
  }
  return { document: { ...told, items: items.length }, effects, items };
}

/** What became of each item. Pure. */
export function itemEffectsOf(
  event: Conclusion,
  { facts, receipt }: ReadEvidence,
  reading: Pick<DocumentReading, 'effectsOf'>,
): ItemEffect[] {
  const { outcome, cause } = event.data;
  if (outcome === 'failed') return facts.items.map((item) => attempted(item, cause));
  if (receipt === undefined)
    throw new Error(`${event.stream} is ${outcome} at position ${event.position} but names no receipt`);
  return reading.effectsOf(facts, receipt);
}

function attempted(item: DocumentItem, cause: FailureCause | undefined): ItemEffect {
  return { item, result: 'refused', errorCode: cause ?? 'failed', errorText: attemptText(cause) };
}

function attemptText(cause: FailureCause | undefined): string {
  switch (cause) {
    case 'registry_failed':
      return 'The registry failed to process the document and gave no receipt.';
    case 'send_refused':
      return 'The registry refused to take the document.';
    case 'predecessor_failed':
      return 'Not sent: the document that it was to come after did not succeed.';
    case 'not_processed':
      return 'Not processed: a document before it in its group did not succeed.';
    case 'waits_in_ring':
      return 'Not sent: it would have waited for itself.';
    case 'packs_forbid':
      return 'Not sent: the known state of its packs forbade it.';
    case 'ended_by_person':
      return 'Not sent: a person held it, and ended it.';
    case undefined:
      return 'The document failed.';
    default:
      return neverReached(cause, 'failure cause');
  }
}

/** A document names few different effects for many items: each is stored once. */
function effectNumber(effect: MovementEffect, effects: MovementEffect[], numbers: Map<string, number>): number {
  const key = Object.values(effect).join('\u0000');
  const known = numbers.get(key);
  if (known !== undefined) return known;
  effects.push(effect);
  numbers.set(key, effects.length - 1);
  return effects.length - 1;
}

function isSame(one: MovementEffect, other: MovementEffect): boolean {
  for (const name in one) if (one[name as keyof MovementEffect] !== other[name as keyof MovementEffect]) return false;
  return true;
}

/** Every effect has the same properties in the same order: `effectNumber` compares their values. */
function effectOf(given: ItemEffect): MovementEffect {
  const { result, errorCode, errorText, series, expiry, funding, lots } = given;
  const { status, place, owner, holder, part, containment, corrects }: Partial<ItemEffect> =
    result === 'applied' ? given : {};
  return {
    result,
    errorCode,
    errorText,
    series,
    expiry,
    funding,
    lots: lots === undefined ? undefined : JSON.stringify(lots.map((lot) => [lot.gtin, lot.series])),
    status,
    place: keyIn(place),
    owner,
    holder,
    part,
    containment: containment === undefined ? undefined : containmentWord(containment),
    container: containment?.kind === 'packed' ? containment.into : undefined,
    corrects,
  };
}

function containmentWord(
  containment: NonNullable<ItemEffect['containment']>,
): NonNullable<MovementEffect['containment']> {
  return containment.kind === 'opened' && containment.recursive === true ? 'opened_all' : containment.kind;
}

function documentRow(event: Conclusion, facts: DocumentFacts): Omit<MovementDocument, 'items'> {
  const { outcome, cause, docType, documentSha256, receiptSha256, acceptedAt } = event.data;
  return {
    knownFrom: event.position,
    requestId: requestIdOfStream(event.stream),
    documentId: undefined,
    channel: undefined,
    docType,
    outcome,
    cause,
    ...sidesIn(facts),
    operationDate: facts.operationDate,
    operationAt: instantOf(facts.operationDate),
    acceptedAt,
    orderedAt: acceptedAt ?? event.metadata.effectiveAt,
    documentSha256,
    receiptSha256,
    recalls: recalledBy(facts),
    recordedAt: event.recordedAt,
  };
}

/** A text by which rows are searched; undefined for one that no index takes. */
const keyIn = (text: string | undefined): string | undefined =>
  text !== undefined && fitsRecord(text) ? text : undefined;

/** Whose document it is, and the other side. */
export const sidesIn = ({ subjectId, counterpartyId }: DocumentFacts) => ({
  subjectId: keyIn(subjectId) ?? '',
  counterpartyId: keyIn(counterpartyId),
});

/** The operation that a recall names instead of items: the registry's id of its document, or its request_id. */
export const recalledBy = ({ docType, fields }: DocumentFacts): string | undefined =>
  docType === RECALL ? keyIn(fields['operation_id']) : undefined;

/**
 * The claimed moment as an instant, where the text is one: a date without a zone stays text alone rather than being
 * guessed at, and so does one whose year, in UTC, is none of four digits from 0001 on: PostgreSQL would refuse it, and
 * one odd document would hold up every pack's history.
 */
export function instantOf(operationDate: string): string | undefined {
  const withZone = /(?:Z|[+-]\d\d:\d\d)$/.test(operationDate);
  const instant = withZone ? new Date(operationDate) : undefined;
  // A year beyond 9999, an invalid date (NaN) and one before the year 1 all fail this.
  return instant !== undefined && instant.getUTCFullYear() >= 1 && instant.getUTCFullYear() <= 9_999
    ? instant.toISOString()
    : undefined;
}
