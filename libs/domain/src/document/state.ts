import { defined, neverReached } from '#kernel';
import { evolveAttempt, FIRST_ATTEMPT, type Attempt } from '../attempt/attempt.js';
import { hasBegun } from '../attempt/decide.js';
import type {
  DocumentConcluded,
  DocumentEvent,
  DocumentOutcome,
  DocumentReference,
  DocumentRegistered,
  DocumentSent,
  DocumentWaiting,
  FailureCause,
  FirstCommand,
  Hold,
  ReceiptStored,
  Registration,
  RegistryStatus,
} from './events.js';
import { gateAfterHold, gateAfterWaiver, gateAtAttempt, gateAtRelease, type AtGate } from './gate.js';
import {
  isAboutWaiting,
  NO_WAIT,
  withHold,
  withoutDecided,
  withoutOwn,
  withoutPredecessor,
  type Waiting,
  type WaitEvent,
} from './hold.js';
import { sendStepOf, type SendEvent } from './send-attempt.js';
import { mayFollow } from './transitions.js';
import { evolveUpload, openedUpload, type Uploading } from './upload.js';
import { isAboutUpload, type UploadEvent } from './upload-events.js';

/** The documents that came in place of one that had ended badly: in a resumption of its group, or by an operator. */
interface Successors {
  supersededBy?: string;
  resentAs?: string;
}

/** The registry has it not, or not that we know. The phase names the step of the attempt to send it. */
export interface ToSend {
  phase: 'ready' | 'sending' | 'unconfirmed';
  registration: Registration;
  send: Attempt;
  /** Set for a large document, which is only announced. */
  upload?: true;
  /** How often it was to wait for its items, while it was not sent. */
  itemWaits?: number;
  /** How it stands with what is judged before it is sent. */
  gate?: AtGate;
}

/** It waits, or is held. */
interface WaitingDocument extends Waiting {
  phase: 'waiting';
  registration: Registration;
  itemWaits?: number;
  gate?: AtGate;
  /** The attempt to come, where an earlier one surely did not arrive; absent: none was made. */
  tried?: Attempt;
}

/** Where a document stands, as a union of named phases. */
export type DocumentState =
  | { phase: 'absent' }
  | WaitingDocument
  | ToSend
  | { phase: 'refused'; registration: Registration; tried?: Attempt }
  | Uploading
  | {
      phase: 'sent';
      registration: Registration;
      attempt: number;
      documentId: string;
      status: RegistryStatus | undefined;
      /** As it was when it was sent: its group is judged once more before its start. */
      gate?: AtGate;
    }
  | ({ phase: 'received'; registration: Registration; documentId: string; status: RegistryStatus } & Successors)
  | ({
      phase: 'concluded';
      registration: Registration;
      outcome: DocumentOutcome;
      documentId: string | undefined;
      status: RegistryStatus | undefined;
      cause?: FailureCause;
      /** Where no document of the registry is known: what was tried all the same, and may have landed. */
      tried?: Attempt;
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
  return { ...defined({ reference }), ...named };
}

export const ABSENT: DocumentState = { phase: 'absent' };

const PHASES = { open: 'ready', calling: 'sending', doubtful: 'unconfirmed' } as const;

export const isToSend = (state: DocumentState): state is ToSend => 'send' in state;

const ready = (registration: Registration): ToSend => ({ phase: 'ready', registration, send: FIRST_ATTEMPT });

type Registered = Exclude<DocumentState, { phase: 'absent' }>;

/**
 * The state after one event. Throws on an event that cannot follow: the stream is damaged and must not be worked on.
 */
export function evolve(state: DocumentState, event: DocumentEvent): DocumentState {
  if (state.phase === 'absent') {
    if (event.type !== 'DocumentRegistered') throw new Error(`${event.type} before DocumentRegistered`);
    return ready(event.data);
  }
  if (event.type === 'DocumentRegistered' || !mayFollow(state.phase, event.type))
    throw new Error(`${event.type} in phase ${state.phase}`);
  return evolveRegistered(state, event);
}

function evolveRegistered(state: Registered, event: Exclude<DocumentEvent, DocumentRegistered>): DocumentState {
  const { registration } = state;
  if (isAboutUpload(event)) return duringUpload(state, event);
  if (isAboutWaiting(event)) return beforeSend(state, event);
  switch (event.type) {
    case 'SendRefused':
      return { phase: 'refused', registration, ...triedOf(state) };
    case 'SendAttempted':
    case 'SendNotDelivered':
    case 'SendAbsenceProven':
    case 'SendUnconfirmed':
      return duringSend(state, event);
    case 'LookUpMissed':
      return state.phase === 'uploading' ? evolveUpload(state, event) : duringSend(state, event);
    case 'DocumentSent':
      return sent(state, event.data);
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
      return received(state, event.data);
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
      return waiting(state, event.data);
    case 'DocumentReleased':
      return released(state);
    case 'GateWarned':
      return withGate(state, { isWarned: true });
    case 'SuspensionWarned':
      return withGate(state, { isSuspensionWarned: true });
    case 'DocumentHeld':
      return held(state, event.data.hold);
    case 'DocumentRefused':
      return { phase: 'refused', registration, ...triedOf(state) };
    case 'HoldWaived':
      return state.phase === 'waiting'
        ? { ...state, ...evolveWaiting(state, event), ...gateAfterWaiver(state.gate, event.data.holds) }
        : state;
    case 'PredecessorConcluded':
    case 'HoldLapsed':
    case 'ItemWaitLifted':
    case 'GateHoldLifted':
    case 'SuspensionHoldLifted':
      return state.phase === 'waiting' ? { ...state, ...evolveWaiting(state, event) } : state;
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

const withGate = (state: Registered, news: Partial<AtGate>): DocumentState =>
  state.phase === 'ready' ? { ...state, gate: { holds: 0, ...state.gate, ...news } } : state;

/** What is known of it from before its first send. */
function keptBeforeSend(state: Registered): Pick<WaitingDocument, 'itemWaits' | 'gate' | 'tried'> {
  return state.phase === 'waiting' || state.phase === 'ready' ? { ...judgedOf(state), ...triedOf(state) } : {};
}

/** How often it was to wait for its items, and how it stands with what is judged, until the registry has it. */
function judgedOf(state: Registered): Pick<ToSend, 'itemWaits' | 'gate'> {
  if (!isToSend(state) && state.phase !== 'waiting' && state.phase !== 'uploading') return {};
  const { itemWaits, gate } = state;
  return defined({ itemWaits, gate });
}

/** The attempts that were made so far; none where it was never tried, or the registry's document is known. */
function triedOf(state: Registered): { tried?: Attempt } {
  if (isToSend(state)) return hasBegun(state.send, 1) ? { tried: state.send } : {};
  return 'tried' in state ? defined({ tried: state.tried }) : {};
}

function released(state: Registered): ToSend {
  const { tried, ...kept } = keptBeforeSend(state);
  return { ...ready(state.registration), ...kept, ...gateAtRelease(kept.gate), ...defined({ send: tried }) };
}

/** Its own holds hold what was ready, or waits; a bad end holds what waits. */
function held(state: Registered, hold: Hold): DocumentState {
  const { registration } = state;
  const waiting = withHold(state.phase === 'waiting' ? state : NO_WAIT, hold);
  const kept = keptBeforeSend(state);
  return { phase: 'waiting', registration, ...waiting, ...kept, ...gateAfterHold(kept.gate, hold) };
}

/** A wait by items may come on top of another. */
function waiting(state: Registered, wait: DocumentWaiting['data']): DocumentState {
  const { waitingFor, holds } = state.phase === 'waiting' ? state : NO_WAIT;
  return {
    phase: 'waiting',
    registration: state.registration,
    waitingFor: [...waitingFor, ...wait.for],
    holds,
    ...keptBeforeSend(state),
    ...(wait.kind === 'items' ? { itemWaits: wait.round } : {}),
  };
}

function evolveWaiting(
  waiting: Waiting,
  event: Extract<
    WaitEvent,
    {
      type:
        | 'PredecessorConcluded'
        | 'HoldWaived'
        | 'HoldLapsed'
        | 'ItemWaitLifted'
        | 'GateHoldLifted'
        | 'SuspensionHoldLifted';
    }
  >,
): Waiting {
  switch (event.type) {
    case 'PredecessorConcluded':
      return withoutPredecessor(waiting, event.data.requestId);
    case 'ItemWaitLifted':
      return withoutPredecessor(waiting, event.data.for.requestId);
    case 'GateHoldLifted':
      return withoutOwn(waiting, 'gate');
    case 'SuspensionHoldLifted':
      return withoutOwn(waiting, 'suspension');
    case 'HoldWaived':
    case 'HoldLapsed':
      return withoutDecided(waiting, event.data);
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

function duringSend(state: Registered, event: SendEvent): DocumentState {
  const { registration } = state;
  const send = evolveAttempt(isToSend(state) ? state.send : FIRST_ATTEMPT, sendStepOf(event));
  const isLarge = event.type === 'SendAttempted' ? event.data.upload : 'upload' in state && state.upload;
  const upload = isLarge && send.step !== 'open' ? { upload: true as const } : {};
  const judged = judgedOf(state);
  const begun = event.type === 'SendAttempted' ? gateAtAttempt(judged.gate) : {};
  return { phase: PHASES[send.step], registration, send, ...upload, ...judged, ...begun };
}

function duringUpload(state: Registered, event: UploadEvent): DocumentState {
  if (event.type === 'UploadOpened') return { ...openedUpload(state.registration, event.data), ...judgedOf(state) };
  if (state.phase !== 'uploading') throw new Error(`${event.type} in phase ${state.phase}`);
  return evolveUpload(state, event);
}

const received = (state: Registered, { documentId }: ReceiptStored['data']): DocumentState => ({
  phase: 'received',
  registration: state.registration,
  documentId,
  status: statusOf(state) ?? 'processed',
  ...successorsOf(state),
});

function concluded(state: Registered, { outcome, cause }: DocumentConcluded['data']): DocumentState {
  const { registration } = state;
  return {
    phase: 'concluded',
    registration,
    outcome,
    documentId: documentIdOf(state),
    status: statusOf(state),
    ...defined({ cause }),
    ...triedOf(state),
    ...successorsOf(state),
  };
}

const sent = (state: Registered, { attempt, documentId }: DocumentSent['data']): DocumentState => ({
  phase: 'sent',
  registration: state.registration,
  attempt,
  documentId,
  status: undefined,
  ...defined({ gate: judgedOf(state).gate }),
});

const withSuccessor = (state: Registered, successor: Successors): DocumentState =>
  state.phase === 'concluded' ? { ...state, ...successor } : state;

function withStatus(state: Registered, status: RegistryStatus): DocumentState {
  if (state.phase === 'sent' || state.phase === 'concluded') return { ...state, status };
  throw new Error(`StatusObserved in phase ${state.phase}`);
}

function successorsOf(state: Registered): Successors {
  if (state.phase !== 'concluded' && state.phase !== 'received') return {};
  const { supersededBy, resentAs } = state;
  return { ...defined({ supersededBy, resentAs }) };
}

const statusOf = (state: Registered): RegistryStatus | undefined => ('status' in state ? state.status : undefined);
const documentIdOf = (state: Registered): string | undefined => ('documentId' in state ? state.documentId : undefined);
