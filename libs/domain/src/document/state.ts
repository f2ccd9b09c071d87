import { neverReached } from '#kernel';
import type { DocumentEvent, DocumentOutcome, DocumentReference, DocumentRegistered, RegistryStatus } from './events.js';

export type Registration = DocumentRegistered['data'];

/** Where a document stands, as a union of named phases. */
export type DocumentState =
  | { phase: 'absent' }
  | { phase: 'waiting'; registration: Registration; waitingFor: DocumentReference[] }
  | { phase: 'ready'; registration: Registration; nextAttempt: number }
  | { phase: 'refused'; registration: Registration }
  | { phase: 'sending'; registration: Registration; attempt: number }
  | { phase: 'unconfirmed'; registration: Registration; attempt: number; lookUps: number }
  | { phase: 'sent'; registration: Registration; attempt: number; documentId: string; status: RegistryStatus | undefined }
  | { phase: 'received'; registration: Registration; documentId: string; status: RegistryStatus }
  | { phase: 'concluded'; registration: Registration; outcome: DocumentOutcome; documentId: string | undefined; status: RegistryStatus | undefined };

export const ABSENT: DocumentState = { phase: 'absent' };

type Registered = Exclude<DocumentState, { phase: 'absent' }>;

/** The state after one event. Throws on an event that cannot follow: the stream is damaged and must not be worked on. */
export function evolve(state: DocumentState, event: DocumentEvent): DocumentState {
  if (event.type === 'DocumentRegistered') {
    if (state.phase !== 'absent') throw new Error(`DocumentRegistered in phase ${state.phase}`);
    return { phase: 'ready', registration: event.data, nextAttempt: 1 };
  }
  if (state.phase === 'absent') throw new Error(`${event.type} before DocumentRegistered`);
  return evolveRegistered(state, event);
}

function evolveRegistered(state: Registered, event: Exclude<DocumentEvent, DocumentRegistered>): DocumentState {
  const { registration } = state;
  switch (event.type) {
    case 'DocumentWaiting':
      return { phase: 'waiting', registration, waitingFor: event.data.for };
    case 'PredecessorConcluded':
      return state.phase === 'waiting'
        ? { ...state, waitingFor: state.waitingFor.filter((one) => one.requestId !== event.data.requestId) }
        : state;
    case 'DocumentReleased':
      return { phase: 'ready', registration, nextAttempt: 1 };
    case 'DocumentRefused':
      return { phase: 'refused', registration };
    case 'SendAttempted':
      return { phase: 'sending', registration, attempt: event.data.attempt };
    case 'SendNotDelivered':
    case 'SendAbsenceProven':
      return { phase: 'ready', registration, nextAttempt: event.data.attempt + 1 };
    case 'SendUnconfirmed':
      return { phase: 'unconfirmed', registration, attempt: event.data.attempt, lookUps: 0 };
    case 'LookUpMissed':
      return { phase: 'unconfirmed', registration, attempt: event.data.attempt, lookUps: event.data.lookUp };
    case 'DocumentSent':
      return { phase: 'sent', registration, attempt: event.data.attempt, documentId: event.data.documentId, status: undefined };
    case 'SendRefused':
      return { phase: 'refused', registration };
    case 'DuplicateDetected':
    case 'DocumentDownloaded':
      return state;
    case 'StatusObserved':
      return withStatus(state, event.data.status);
    case 'ReceiptStored':
      return { phase: 'received', registration, documentId: event.data.documentId, status: statusOf(state) ?? 'processed' };
    case 'DocumentConcluded':
    case 'ConclusionRevised':
      return { phase: 'concluded', registration, outcome: event.data.outcome, documentId: documentIdOf(state), status: statusOf(state) };
    default:
      return neverReached(event, 'document event');
  }
}

function withStatus(state: Registered, status: RegistryStatus): DocumentState {
  if (state.phase === 'sent' || state.phase === 'concluded') return { ...state, status };
  throw new Error(`StatusObserved in phase ${state.phase}`);
}

const statusOf = (state: Registered): RegistryStatus | undefined => ('status' in state ? state.status : undefined);
const documentIdOf = (state: Registered): string | undefined => ('documentId' in state ? state.documentId : undefined);
