import { neverReached } from '#kernel';
import type {
  DocumentConcluded,
  DocumentEvent,
  DocumentOutcome,
  DocumentReference,
  DocumentRegistered,
  FailureCause,
  FirstCommand,
  RegistryStatus,
} from './events.js';
import { isAboutWaiting, withHold, withoutHolds, withoutPredecessor, type Waiting, type WaitEvent } from './hold.js';
import { evolveUpload, openedUpload, type Uploading } from './upload.js';
import { isAboutUpload, type UploadEvent } from './upload-events.js';

export type Registration = DocumentRegistered['data'];

/** The documents that came in place of one that had ended badly: in a resumption of its group, or by an operator. */
interface Successors {
  supersededBy?: string;
  resentAs?: string;
}

/** How many attempts of unknown outcome were proven absent; none where it is not set. */
interface Doubts {
  doubts?: number;
}

/** Where a document stands, as a union of named phases. */
export type DocumentState =
  | { phase: 'absent' }
  | (Waiting & { phase: 'waiting'; registration: Registration })
  | ({ phase: 'ready'; registration: Registration; nextAttempt: number } & Doubts)
  | { phase: 'refused'; registration: Registration }
  | ({
      phase: 'sending';
      registration: Registration;
      attempt: number;
      /** Set for a large document, which is only announced. */ upload?: true;
    } & Doubts)
  | ({ phase: 'unconfirmed'; registration: Registration; attempt: number; lookUps: number; upload?: true } & Doubts)
  | Uploading
  | {
      phase: 'sent';
      registration: Registration;
      attempt: number;
      documentId: string;
      status: RegistryStatus | undefined;
    }
  | ({ phase: 'received'; registration: Registration; documentId: string; status: RegistryStatus } & Successors)
  | ({
      phase: 'concluded';
      registration: Registration;
      outcome: DocumentOutcome;
      documentId: string | undefined;
      status: RegistryStatus | undefined;
      cause?: FailureCause;
    } & Successors);

/**
 * The document that ended badly and in whose place this one was sent: by an operator, or in the resumption of its
 * group.
 */
export const standsFor = ({ resendOf, supersedes }: Registration): DocumentReference | undefined =>
  resendOf ?? supersedes;

interface Given extends FirstCommand {
  firstCommand?: FirstCommand;
  resendOf?: FirstCommand;
  supersedes?: FirstCommand;
  resumes?: FirstCommand;
}

/**
 * The ERP's own command of what was sent again, be it a document or a group; of anything else its own. An old event
 * names only what it replaced.
 */
export function firstCommandOf({
  commandId,
  reference,
  firstCommand,
  resendOf,
  supersedes,
  resumes,
}: Given): FirstCommand {
  const named = firstCommand ?? { commandId: (resendOf ?? supersedes ?? resumes)?.commandId ?? commandId };
  return { ...(reference === undefined ? {} : { reference }), ...named };
}

export const ABSENT: DocumentState = { phase: 'absent' };

type Registered = Exclude<DocumentState, { phase: 'absent' }>;

/**
 * The state after one event. Throws on an event that cannot follow: the stream is damaged and must not be worked on.
 */
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
  if (isAboutUpload(event)) return duringUpload(state, event);
  if (isAboutWaiting(event)) return beforeSend(state, event);
  switch (event.type) {
    case 'SendRefused':
      return { phase: 'refused', registration };
    case 'SendAttempted':
    case 'SendNotDelivered':
    case 'SendAbsenceProven':
    case 'SendUnconfirmed':
    case 'LookUpMissed':
    case 'DocumentSent':
      return duringSend(state, event);
    case 'DuplicateDetected':
    case 'DocumentDownloaded':
    case 'DocumentNotProcessed':
      return state;
    case 'DocumentSuperseded':
      return withSuccessor(state, { supersededBy: event.data.by.requestId });
    case 'DocumentResent':
      return withSuccessor(state, { resentAs: event.data.by.requestId });
    case 'StatusObserved':
      return withStatus(state, event.data.status);
    case 'ReceiptStored':
      return {
        phase: 'received',
        registration,
        documentId: event.data.documentId,
        status: statusOf(state) ?? 'processed',
        ...successorsOf(state),
      };
    case 'DocumentConcluded':
    case 'ConclusionRevised':
      return concluded(state, event.data);
    default:
      return neverReached(event, 'document event');
  }
}

function beforeSend(state: Registered, event: WaitEvent): DocumentState {
  const { registration } = state;
  switch (event.type) {
    case 'DocumentWaiting':
      return { phase: 'waiting', registration, waitingFor: event.data.for, holds: [] };
    case 'DocumentReleased':
      return { phase: 'ready', registration, nextAttempt: 1 };
    case 'DocumentRefused':
      return { phase: 'refused', registration };
    case 'PredecessorConcluded':
    case 'DocumentHeld':
    case 'HoldWaived':
      return state.phase === 'waiting' ? { ...state, ...evolveWaiting(state, event) } : state;
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

function evolveWaiting(
  waiting: Waiting,
  event: Extract<WaitEvent, { type: 'PredecessorConcluded' | 'DocumentHeld' | 'HoldWaived' }>,
): Waiting {
  switch (event.type) {
    case 'PredecessorConcluded':
      return withoutPredecessor(waiting, event.data.requestId);
    case 'DocumentHeld':
      return withHold(waiting, event.data.hold);
    case 'HoldWaived':
      return withoutHolds(waiting, event.data.holds);
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

type SendEvent = Extract<
  DocumentEvent,
  {
    type:
      'SendAttempted' | 'SendNotDelivered' | 'SendAbsenceProven' | 'SendUnconfirmed' | 'LookUpMissed' | 'DocumentSent';
  }
>;

function duringSend(state: Registered, event: SendEvent): DocumentState {
  const { registration } = state;
  const { attempt } = event.data;
  switch (event.type) {
    case 'SendAttempted':
      return {
        phase: 'sending',
        registration,
        attempt,
        ...doubtsOf(state),
        ...(event.data.upload === undefined ? {} : { upload: true }),
      };
    case 'SendNotDelivered':
      return { phase: 'ready', registration, nextAttempt: attempt + 1, ...doubtsOf(state) };
    case 'SendAbsenceProven':
      return { phase: 'ready', registration, nextAttempt: attempt + 1, doubts: (doubtsOf(state).doubts ?? 0) + 1 };
    case 'SendUnconfirmed':
      return { phase: 'unconfirmed', registration, attempt, lookUps: 0, ...uploadOf(state), ...doubtsOf(state) };
    case 'LookUpMissed':
      return state.phase === 'uploading'
        ? evolveUpload(state, event)
        : {
            phase: 'unconfirmed',
            registration,
            attempt,
            lookUps: event.data.lookUp,
            ...uploadOf(state),
            ...doubtsOf(state),
          };
    case 'DocumentSent':
      return { phase: 'sent', registration, attempt, documentId: event.data.documentId, status: undefined };
    default:
      return neverReached(event, 'send event');
  }
}

function duringUpload(state: Registered, event: UploadEvent): DocumentState {
  if (event.type === 'UploadOpened') return openedUpload(state.registration, event.data);
  if (state.phase !== 'uploading') throw new Error(`${event.type} in phase ${state.phase}`);
  return evolveUpload(state, event);
}

function concluded(state: Registered, { outcome, cause }: DocumentConcluded['data']): DocumentState {
  const { registration } = state;
  return {
    phase: 'concluded',
    registration,
    outcome,
    documentId: documentIdOf(state),
    status: statusOf(state),
    ...(cause === undefined ? {} : { cause }),
    ...successorsOf(state),
  };
}

const withSuccessor = (state: Registered, successor: Successors): DocumentState =>
  state.phase === 'concluded' ? { ...state, ...successor } : state;

function withStatus(state: Registered, status: RegistryStatus): DocumentState {
  if (state.phase === 'sent' || state.phase === 'concluded') return { ...state, status };
  throw new Error(`StatusObserved in phase ${state.phase}`);
}

function successorsOf(state: Registered): Successors {
  if (state.phase !== 'concluded' && state.phase !== 'received') return {};
  const { supersededBy, resentAs } = state;
  return { ...(supersededBy === undefined ? {} : { supersededBy }), ...(resentAs === undefined ? {} : { resentAs }) };
}

const uploadOf = (state: Registered): { upload?: true } =>
  'upload' in state && state.upload !== undefined ? { upload: state.upload } : {};
const doubtsOf = (state: Registered): Doubts =>
  'doubts' in state && state.doubts !== undefined ? { doubts: state.doubts } : {};
const statusOf = (state: Registered): RegistryStatus | undefined => ('status' in state ? state.status : undefined);
const documentIdOf = (state: Registered): string | undefined => ('documentId' in state ? state.documentId : undefined);
