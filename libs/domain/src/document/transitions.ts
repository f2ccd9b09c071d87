import type { DocumentEvent, DocumentRegistered } from './events.js';

type LaterEvent = Exclude<DocumentEvent, DocumentRegistered>;

/** The phases of a document that is registered (state.ts). */
type DocumentPhase =
  'waiting' | 'ready' | 'sending' | 'unconfirmed' | 'uploading' | 'sent' | 'received' | 'refused' | 'concluded';

const WAITING = ['waiting'] as const;
const UPLOADING = ['uploading'] as const;
const ENDED = ['concluded'] as const;
const TO_SEND = ['ready', 'sending', 'unconfirmed'] as const;

/**
 * In which phases each event may follow. What is seen late (a second document, a copy that was fetched, another status)
 * is known already and moves nothing.
 */
const FOLLOWS: Record<LaterEvent['type'], readonly DocumentPhase[] | 'anywhere'> = {
  DocumentWaiting: ['ready', 'waiting'],
  PredecessorConcluded: WAITING,
  DocumentHeld: ['ready', 'waiting'],
  HoldWaived: WAITING,
  HoldLapsed: WAITING,
  ItemWaitLifted: WAITING,
  GateHoldLifted: WAITING,
  GateWarned: ['ready'],
  SuspensionHoldLifted: WAITING,
  SuspensionWarned: ['ready'],
  DocumentReleased: WAITING,
  DocumentRefused: ['ready', 'waiting'],
  SendAttempted: ['ready'],
  SendRefused: ['sending', 'uploading'],
  SendNotDelivered: ['sending'],
  SendUnconfirmed: ['sending'],
  LookUpMissed: ['unconfirmed', 'uploading'],
  SendAbsenceProven: ['unconfirmed', 'uploading'],
  // One that an earlier attempt brought there, whatever was known of it when it was held.
  DocumentSent: [...TO_SEND, 'uploading', 'waiting'],
  UploadOpened: TO_SEND,
  UploadFinishAttempted: UPLOADING,
  UploadFinishNotDelivered: UPLOADING,
  UploadFinishUnconfirmed: UPLOADING,
  UploadRefused: UPLOADING,
  UploadSeenOpen: UPLOADING,
  UploadProvenOpen: UPLOADING,
  DuplicateDetected: 'anywhere',
  DocumentDownloaded: 'anywhere',
  StatusObserved: ['sent', 'concluded'],
  ReceiptStored: ['sent', 'concluded'],
  DocumentNotProcessed: ['ready', 'waiting', 'sent'],
  DocumentSuperseded: ENDED,
  DocumentResent: ENDED,
  DocumentConcluded: ['ready', 'waiting', 'sent', 'received', 'refused'],
  ConclusionRevised: ['received'],
};

/** Whether an event may follow. One of a type that is not known here is left to `evolve`, which refuses it by name. */
export function mayFollow(phase: DocumentPhase, type: LaterEvent['type']): boolean {
  const phases = Object.hasOwn(FOLLOWS, type) ? FOLLOWS[type] : 'anywhere';
  return phases === 'anywhere' || phases.includes(phase);
}
