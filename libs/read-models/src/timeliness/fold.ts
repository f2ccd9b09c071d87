import type { DocumentEvent, DocumentRegistered, InboundDownloaded, InboundEvent, InboundSeen } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { neverReached } from '#kernel';
import { instantOf } from '../sgtin-history/movements.js';
import { DOCUMENT_TIMING, type DocumentTimingRow } from './row.js';

/** The events that tell a moment. Others of the same streams are not asked for. */
export const TIMING_EVENTS = [
  ...['DocumentRegistered', 'DocumentSent', 'DocumentConcluded', 'ConclusionRevised', 'DocumentResent'],
  ...['DocumentSuperseded', 'InboundSeen', 'InboundDownloaded', 'InboundConcluded', 'InboundRecognised'],
] as const;

type TimingEvent = Extract<DocumentEvent | InboundEvent, { type: (typeof TIMING_EVENTS)[number] }>;
type Beginning = DocumentRegistered | InboundSeen;

/** The row after one more event of its document. Pure; an event that the row already holds changes nothing. */
export function foldTiming(row: DocumentTimingRow | undefined, recorded: RecordedEvent): DocumentTimingRow {
  const event = typedEvent<TimingEvent>(recorded);
  if (row !== undefined && recorded.position <= row.position) return row;
  if (event.type === 'DocumentRegistered' || event.type === 'InboundSeen') return begun(event, recorded);
  if (row === undefined)
    throw new Error(
      `${recorded.type} at position ${recorded.position} of ${recorded.stream} has no document before it`,
    );
  return { ...row, ...changes(row, event, recorded.recordedAt), position: recorded.position };
}

function begun(event: Beginning, { stream, position, recordedAt: knownAt }: RecordedEvent): DocumentTimingRow {
  const common = { ...DOCUMENT_TIMING.nulls, stream, firstPosition: position, position, knownAt, dayAt: knownAt };
  if (event.type === 'DocumentRegistered') {
    const { requestId: id, account, docType, docNum = null, commandId, reference = null, operationDate } = event.data;
    const registered = { id, account, docType, docNum, commandId, reference };
    return { ...common, ...registered, kind: 'own', channel: 'api', ...claimed(operationDate, knownAt) };
  }
  const { documentId: id, account, docType = null, docNum = null, direction, channel, receivedAt } = event.data;
  const kind = direction === 'incoming' ? 'incoming' : 'adopted';
  const sentAt = receivedAt === undefined ? null : new Date(receivedAt);
  return { ...common, id, account, docType, docNum, kind, channel, sentAt };
}

function claimed(
  operationDate: string,
  knownAt: Date,
): Pick<DocumentTimingRow, 'operationDate' | 'operationAt' | 'dayAt'> {
  const text = instantOf(operationDate);
  const operationAt = text === undefined ? null : new Date(text);
  return { operationDate, operationAt, dayAt: operationAt ?? knownAt };
}

function changes(row: DocumentTimingRow, event: Exclude<TimingEvent, Beginning>, at: Date): Partial<DocumentTimingRow> {
  switch (event.type) {
    case 'DocumentSent':
      return { sentAt: row.sentAt ?? at };
    case 'DocumentConcluded':
    case 'ConclusionRevised':
    case 'InboundConcluded': {
      const { outcome, acceptedAt } = event.data;
      return { outcome, acceptedAt: acceptedAt === undefined ? null : new Date(acceptedAt) };
    }
    case 'DocumentResent':
    case 'DocumentSuperseded':
      return { replacedBy: event.data.by.requestId };
    case 'InboundDownloaded':
      return downloaded(row, event.data);
    case 'InboundRecognised':
      return { kind: 'recognised' };
    default:
      return neverReached(event, 'event that tells a moment');
  }
}

function downloaded(
  row: DocumentTimingRow,
  { documentSha256, content }: InboundDownloaded['data'],
): Partial<DocumentTimingRow> {
  if ('problem' in content) return {};
  const { docType, docNum = row.docNum, operationDate } = content;
  return { documentSha256, docType, docNum, ...claimed(operationDate, row.knownAt) };
}
