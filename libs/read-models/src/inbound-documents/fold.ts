import type { InboundDownloaded, InboundEvent, InboundSeen } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { defined, neverReached } from '#kernel';
import { INBOUND_DOCUMENT, type InboundDocumentRow } from './row.js';

/**
 * The row after one more event. Pure. An event that the row already holds changes nothing, so a page that comes twice
 * is harmless. Throws on an event type that it does not know, and on an event before InboundSeen.
 */
export function foldInbound(row: InboundDocumentRow | undefined, recorded: RecordedEvent): InboundDocumentRow {
  const event = typedEvent<InboundEvent>(recorded);
  if (row !== undefined && recorded.position <= row.position) return row;
  if (event.type === 'InboundSeen') return seen(event, recorded);
  if (row === undefined)
    throw new Error(`${recorded.type} at position ${recorded.position} of ${recorded.stream} comes before InboundSeen`);
  return { ...row, ...changes(event, recorded.recordedAt), position: recorded.position };
}

function seen({ data }: InboundSeen, recorded: RecordedEvent): InboundDocumentRow {
  return {
    ...INBOUND_DOCUMENT.nulls,
    documentId: data.documentId,
    seenPosition: recorded.position,
    position: recorded.position,
    direction: data.direction,
    channel: data.channel,
    account: data.account,
    requestId: data.requestId ?? null,
    docType: data.docType ?? null,
    docNum: data.docNum ?? null,
    sender: data.sender ?? null,
    receiver: data.receiver ?? null,
    phase: 'followed',
    status: data.status,
    errorCount: 0,
    seenAt: recorded.recordedAt,
    receivedAt: data.receivedAt === undefined ? null : new Date(data.receivedAt),
  };
}

function changes(event: Exclude<InboundEvent, InboundSeen>, at: Date): Partial<InboundDocumentRow> {
  switch (event.type) {
    case 'InboundStatusObserved':
      return { status: event.data.status };
    case 'InboundDownloaded':
      return downloaded(event.data);
    case 'InboundDownloadGivenUp':
      return { problem: `The registry does not give the document: ${event.data.reason}` };
    case 'InboundReceiptStored':
      return { receiptSha256: event.data.receiptSha256, errorCount: event.data.errorCount };
    case 'InboundReceiptGivenUp':
      return {
        receiptProblem: `There is no receipt to be had: ${event.data.reason}`,
        ...defined({ receiptSha256: event.data.receiptSha256 }),
      };
    case 'InboundConcluded': {
      const { outcome, acceptedAt } = event.data;
      return { phase: 'concluded', outcome, acceptedAt: acceptedAt ? new Date(acceptedAt) : null, concludedAt: at };
    }
    case 'InboundAskedAgain':
      return {
        ...{ phase: 'followed', outcome: null, acceptedAt: null, concludedAt: null },
        ...(event.data.parts.includes('document') && { problem: null }),
        ...(event.data.parts.includes('receipt') && { receiptProblem: null }),
      };
    case 'InboundLinked':
      return {
        linkedRequestId: event.data.requestId,
        linkedBy: event.data.by,
        sharedItems: event.data.sharedItems ?? null,
      };
    case 'InboundRecognised':
      return { phase: 'ours', linkedRequestId: event.data.requestId, linkedBy: 'request_id' };
    default:
      return neverReached(event, 'inbound event');
  }
}

function downloaded({ documentSha256, content }: InboundDownloaded['data']): Partial<InboundDocumentRow> {
  if ('problem' in content) return { documentSha256, problem: `The document cannot be read: ${content.problem}` };
  const { docType, docNum, subjectId, counterpartyId = null, operationDate, itemCount } = content;
  const read = { documentSha256, docType, subjectId, counterpartyId, operationDate, itemCount };
  return docNum === undefined ? read : { ...read, docNum };
}
