import type { InboundConcluded, InboundRecognised } from '#domain';
import type { DocumentFacts, ItemEffect, ReceiptFacts } from '#documents';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import { gather, instantOf, recalledBy, seriesIn, sidesIn, type DocumentReading, type Movements } from './movements.js';

export type InboundConclusion = RecordedEvent & InboundConcluded;
export type Recognition = RecordedEvent & InboundRecognised;

/** Whether a concluded document of others has bytes that say what it did. */
export const tellsMovements = ({ data }: InboundConclusion): boolean =>
  data.documentSha256 !== undefined && data.isReadable;

/** What a document of others did to each of its items, as we see it. Pure. */
export function inboundMovementsOf(
  event: InboundConclusion,
  read: { facts: DocumentFacts; receipt: ReceiptFacts | undefined },
  reading: Pick<DocumentReading, 'foreignEffectsOf'>,
): Movements {
  const { data } = event;
  const { facts } = read;
  const document = {
    knownFrom: event.position,
    requestId: data.requestId ?? '',
    documentId: data.documentId,
    channel: data.channel,
    docType: data.docType ?? facts.docType,
    outcome: data.outcome,
    cause: undefined,
    ...sidesIn(facts),
    operationDate: facts.operationDate,
    operationAt: instantOf(facts.operationDate),
    acceptedAt: data.acceptedAt,
    orderedAt: inboundOrder(event),
    documentSha256: data.documentSha256 as string,
    receiptSha256: data.receiptSha256,
    recalls: recalledBy(facts),
    recordedAt: event.recordedAt,
  };
  return { ...gather(document, effectsOfInbound(event, read, reading)), series: seriesIn(read) };
}

/**
 * Receipts tell fractions of a second, and lists do not: what is known from a list alone counts last within its second.
 * So a notification comes after the document of which it tells, however soon the other side acted.
 */
export function inboundOrder({ data, metadata }: Pick<InboundConclusion, 'data' | 'metadata'>): string {
  const at = data.acceptedAt ?? metadata.effectiveAt;
  return data.receiptSha256 === undefined ? at.replace(/:(\d\d)(?:\.0+)?Z$/, ':$1.999Z') : at;
}

function effectsOfInbound(
  { data }: InboundConclusion,
  { facts, receipt }: { facts: DocumentFacts; receipt: ReceiptFacts | undefined },
  reading: Pick<DocumentReading, 'foreignEffectsOf'>,
): ItemEffect[] {
  switch (data.outcome) {
    case 'failed':
      return facts.items.map((item) => ({
        item,
        result: 'refused',
        errorCode: 'registry_failed',
        errorText: 'The registry failed to process the document and gave no receipt.',
      }));
    case 'undetermined':
      return facts.items.map((item) => ({ item, result: 'undetermined' }));
    case 'accepted':
    case 'partial':
    case 'rejected':
      return reading.foreignEffectsOf(facts, receipt);
    default:
      throw new Error(`unknown inbound outcome ${String(data.outcome satisfies never)}`);
  }
}

/** What ends the words of an earlier conclusion: it is ours, or it concluded again with more. */
export const endsEarlier = (event: { type: string; data: object }): event is Recognition | InboundConclusion =>
  event.type === 'InboundRecognised' || (event.type === 'InboundConcluded' && 'again' in event.data);

/**
 * What turned out to be a document of ours counts as that one alone from then on, and what concluded again as it did
 * last. Runs last, when the page's own rows are there. Returns the log positions of what counts no longer.
 */
export async function closeEarlier(tx: Transaction, ending: (Recognition | InboundConclusion)[]): Promise<bigint[]> {
  if (ending.length === 0) return [];
  const { rows } = await tx.query<{ known_from: bigint }>(
    `UPDATE movement_document d SET known_to = ended.position, closed_at = ended.at
     FROM (
       SELECT DISTINCT ON (old.known_from) old.known_from, r.position, r.at
       FROM unnest($1::text[], $2::bigint[], $3::timestamptz[]) AS r (document_id, position, at)
       JOIN movement_document old ON old.document_id = r.document_id AND old.known_from < r.position
         AND old.known_to IS NULL
       ORDER BY old.known_from, r.position
     ) ended
     WHERE d.known_from = ended.known_from RETURNING d.known_from`,
    [
      ending.map((event) => event.data.documentId),
      ending.map((event) => event.position),
      ending.map((event) => event.recordedAt),
    ],
  );
  return rows.map((row) => row.known_from);
}
