import {
  isAboutUpload,
  isAboutWaiting,
  type DocumentConcluded,
  type DocumentEvent,
  type DocumentNotProcessed,
  type DocumentRefused,
  type DocumentRegistered,
  type ReceiptStored,
  type UploadEvent,
  type WaitEvent,
} from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { neverReached } from '#kernel';
import { packsListed } from '../gate-words.js';
import { stoppedListed } from '../stop-words.js';
import { ENDED_IN_WORK } from '../wording.js';
import { changedHolds, waivedIn, withWait } from './holds.js';
import { DOCUMENT_OUTCOME, type DocumentCountRow, type DocumentOutcomeRow } from './row.js';

/**
 * The row after one more event of its document. Pure. An event that the row already holds (its position is not newer)
 * changes nothing, so a page that comes twice is harmless. Throws on an event type that it does not know and on an
 * event before the registration: a list that silently lacks documents would be worse than one that stands still.
 */
export function foldDocumentOutcome(row: DocumentOutcomeRow | undefined, recorded: RecordedEvent): DocumentOutcomeRow {
  const event = typedEvent<DocumentEvent>(recorded);
  if (row !== undefined && recorded.position <= row.position) return row;
  if (event.type === 'DocumentRegistered') return registered(event, recorded);
  if (row === undefined)
    throw new Error(
      `${recorded.type} at position ${recorded.position} of ${recorded.stream} comes before DocumentRegistered`,
    );
  return { ...row, ...changes(row, event, recorded.recordedAt), position: recorded.position };
}

function registered(event: DocumentRegistered, recorded: RecordedEvent): DocumentOutcomeRow {
  const { data } = event;
  return {
    ...DOCUMENT_OUTCOME.nulls,
    requestId: data.requestId,
    registeredPosition: recorded.position,
    position: recorded.position,
    commandId: data.commandId,
    reference: data.reference ?? null,
    account: data.account,
    docType: data.docType,
    docNum: data.docNum ?? null,
    subjectId: data.subjectId,
    counterpartyId: data.counterpartyId ?? null,
    operationDate: data.operationDate,
    itemCount: data.itemCount,
    phase: 'ready',
    waitingFor: [],
    heldFor: [],
    attempts: 0,
    errorCount: 0,
    documentSha256: data.documentSha256,
    duplicate: false,
    groupId: data.group?.groupId ?? null,
    groupIndex: data.group?.index ?? null,
    groupSize: data.group?.of ?? null,
    resendOf: data.resendOf?.requestId ?? null,
    registeredAt: recorded.recordedAt,
  };
}

function changes(
  row: DocumentOutcomeRow,
  event: Exclude<DocumentEvent, DocumentRegistered>,
  at: Date,
): Partial<DocumentOutcomeRow> {
  if (isAboutUpload(event)) return uploadChanges(event);
  if (isAboutWaiting(event)) return waitChanges(row, event, at);
  switch (event.type) {
    case 'SendAttempted':
    case 'SendNotDelivered':
    case 'SendUnconfirmed':
    case 'SendAbsenceProven':
    case 'SendRefused':
    case 'DocumentSent':
      return sendChanges(event);
    case 'LookUpMissed':
    case 'DocumentDownloaded':
      return {};
    case 'DocumentNotProcessed':
      return {
        ...{ waitingFor: [], heldFor: [] },
        problem: stoppedBy(event.data),
      };
    case 'DocumentResent':
      return { resentAs: event.data.by.requestId };
    case 'DocumentSuperseded':
      return { supersededBy: event.data.by.requestId };
    case 'DuplicateDetected':
      return { duplicate: true };
    case 'StatusObserved':
      return { status: event.data.status };
    case 'ReceiptStored':
      return received(row, event.data);
    case 'DocumentConcluded':
    case 'ConclusionRevised':
      return concluded(row, event.data, at);
    default:
      return neverReached(event, 'document event');
  }
}

function waitChanges(row: DocumentOutcomeRow, event: WaitEvent, at: Date): Partial<DocumentOutcomeRow> {
  switch (event.type) {
    case 'DocumentWaiting':
      return withWait(row, event.data, at);
    case 'PredecessorConcluded':
      return changedHolds(row, { predecessor: event.data.requestId });
    case 'ItemWaitLifted':
      return changedHolds(row, { predecessor: event.data.for.requestId });
    case 'DocumentHeld':
      return changedHolds(row, { hold: event.data.hold, at });
    case 'HoldWaived':
    case 'HoldLapsed':
      return changedHolds(row, waivedIn(event.data));
    case 'GateHoldLifted':
      return changedHolds(row, { lifted: 'gate' });
    case 'SuspensionHoldLifted':
      return changedHolds(row, { lifted: 'suspension' });
    case 'GateWarned':
    case 'SuspensionWarned':
      return {};
    case 'DocumentReleased':
      return { phase: 'ready', waitingFor: [], heldFor: [] };
    case 'DocumentRefused':
      return {
        waitingFor: [],
        heldFor: [],
        problem: refusedFor(event.data),
      };
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

/** What it was to come after, and how that ended; those that wait for it, in a ring; its packs; or whoever held it. */
function refusedFor(data: DocumentRefused['data']): string {
  const { predecessor, predecessorOutcome, ring, gate, suspension, person } = data;
  if (gate !== undefined) return packsListed(gate);
  if (suspension !== undefined) return `suspended: ${stoppedListed(suspension)}`;
  if (person !== undefined) return `held by ${person.by}: ${person.reason}`;
  return ring === undefined
    ? `${predecessor?.commandId} ${predecessorOutcome ?? 'never came'}`
    : ring.map(({ commandId }) => commandId).join(', ');
}

function received(
  row: DocumentOutcomeRow,
  { receiptSha256, errorCount, comment, acceptedAt }: ReceiptStored['data'],
): Partial<DocumentOutcomeRow> {
  return {
    phase: row.phase === 'concluded' ? row.phase : 'received',
    receiptSha256,
    errorCount,
    comment: comment ?? null,
    acceptedAt: new Date(acceptedAt),
  };
}

function concluded(
  row: DocumentOutcomeRow,
  data: DocumentConcluded['data'],
  concludedAt: Date,
): Partial<DocumentOutcomeRow> {
  const { outcome, cause, acceptedAt, receiptSha256 } = data;
  return {
    phase: 'concluded',
    outcome,
    cause: cause ?? null,
    acceptedAt: acceptedAt === undefined ? row.acceptedAt : new Date(acceptedAt),
    receiptSha256: receiptSha256 ?? row.receiptSha256,
    concludedAt,
  };
}

function sendChanges(
  event: Extract<DocumentEvent, { type: `Send${string}` | 'DocumentSent' }>,
): Partial<DocumentOutcomeRow> {
  switch (event.type) {
    case 'SendAttempted':
      return { phase: 'sending', attempts: event.data.attempt };
    case 'SendNotDelivered':
      return { phase: 'ready', problem: event.data.reason };
    case 'SendUnconfirmed':
      return { phase: 'unconfirmed', problem: event.data.reason };
    case 'SendAbsenceProven':
      return { phase: 'ready' };
    case 'SendRefused':
      return { problem: event.data.text === '' ? event.data.code : event.data.text };
    case 'DocumentSent':
      // An earlier attempt may have brought there what is held by now.
      return { phase: 'sent', documentId: event.data.documentId, problem: null, heldFor: [], waitingFor: [] };
    default:
      return neverReached(event, 'send event');
  }
}

function uploadChanges(event: UploadEvent): Partial<DocumentOutcomeRow> {
  switch (event.type) {
    case 'UploadOpened':
      return { phase: 'uploading', documentId: event.data.documentId, problem: null };
    case 'UploadFinishNotDelivered':
      return { problem: event.data.reason };
    case 'UploadFinishUnconfirmed':
      return { phase: 'unconfirmed', problem: event.data.reason };
    case 'UploadRefused':
      return { phase: 'unconfirmed', problem: event.data.text === '' ? event.data.code : event.data.text };
    case 'UploadProvenOpen':
      return { phase: 'uploading' };
    case 'UploadFinishAttempted':
    case 'UploadSeenOpen':
      return {};
    default:
      return neverReached(event, 'upload event');
  }
}

export type OutcomeTally = Omit<DocumentCountRow, 'single'>;

export const noDocuments = (): OutcomeTally => ({ documents: 0n, accepted: 0n, partial: 0n, rejected: 0n, failed: 0n });

/** What a page changes in the tally: the rows before it against the rows after. */
export function tallyChange(before: Iterable<DocumentOutcomeRow>, after: Iterable<DocumentOutcomeRow>): OutcomeTally {
  const change = noDocuments();
  for (const row of before) count(change, row, -1n);
  for (const row of after) count(change, row, 1n);
  return change;
}

function count(tally: OutcomeTally, row: DocumentOutcomeRow, by: bigint): void {
  tally.documents += by;
  if (row.outcome !== null) tally[row.outcome] += by;
}

const stoppedBy = ({ failed, inWork }: DocumentNotProcessed['data']): string | null => {
  if (inWork === true) return ENDED_IN_WORK;
  return failed === undefined ? null : `${failed.commandId} ${failed.outcome}`;
};
