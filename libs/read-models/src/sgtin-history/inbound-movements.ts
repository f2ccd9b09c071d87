import type { InboundConcluded, InboundRecognised } from '#domain';
import type { DocumentFacts, ItemEffect, ReceiptFacts } from '#documents';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import { gather, instantOf, recalledBy, seriesIn, type DocumentReading, type Movements } from './movements.js';

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
    subjectId: facts.subjectId,
    counterpartyId: facts.counterpartyId,
    operationDate: facts.operationDate,
    operationAt: instantOf(facts.operationDate),
    acceptedAt: data.acceptedAt,
    orderedAt: orderedAt(event),
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
function orderedAt({ data, metadata }: InboundConclusion): string {
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

/**
 * What turned out to be a document of ours counts as that one alone from then on. Runs last, when the page's own rows
 * are there. Returns the log positions of what counts no longer.
 */
export async function closeRecognised(tx: Transaction, recognised: Recognition[]): Promise<bigint[]> {
  if (recognised.length === 0) return [];
  const { rows } = await tx.query<{ known_from: bigint }>(
    `UPDATE movement_document d SET known_to = r.position, closed_at = r.at
     FROM unnest($1::text[], $2::bigint[], $3::timestamptz[]) AS r (document_id, position, at)
     WHERE d.document_id = r.document_id AND d.known_from < r.position AND d.known_to IS NULL
     RETURNING d.known_from`,
    [
      recognised.map((event) => event.data.documentId),
      recognised.map((event) => event.position),
      recognised.map((event) => event.recordedAt),
    ],
  );
  return rows.map((row) => row.known_from);
}
