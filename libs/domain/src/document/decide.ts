import { defined, neverReached, type Sha256 } from '#kernel';
import type { CallAnswer } from '../attempt/attempt.js';
import { decideAttempt, hasBegun, type LookUpFacts } from '../attempt/decide.js';
import type {
  DocumentConcluded,
  DocumentEvent,
  DocumentNotProcessed,
  DocumentReference,
  ReceiptStored,
  Registration,
  RegistryStatus,
} from './events.js';
import { decideWait, endedFor, type GateCommand, type StopCommand, type WaitCommand } from './decide-wait.js';
import { isPlannedBeforeHold, releasedBy } from './gate.js';
import { ourOf, type FoundDocuments } from './found.js';
import { judgeNews, type PredecessorNews } from './hold.js';
import { failed, sendEvents, SEND_POLICY } from './send-attempt.js';
import type { SignedBy } from './signed-by.js';
import { isToSend, type DocumentState, type ToSend } from './state.js';
import { beginFinish, lookedUp, recordUploadAnswer, type UploadAnswer } from './upload.js';

/**
 * What may be asked of a document. Answers of the registry come as commands too: what happened is decided here, once.
 */
export type DocumentCommand =
  | { type: 'Register'; registration: Registration }
  /** `endAtOnceDocTypes`: such documents are ended, and not held, when a predecessor ends badly. */
  | ({ type: 'NotePredecessor' } & PredecessorNews & { endAtOnceDocTypes?: readonly number[] })
  | WaitCommand
  | GateCommand
  | StopCommand
  /**
   * `upload`: the call only announces it. `gateHolds`: how often it had been held when this send was planned; absent:
   * whatever was planned.
   */
  | ({ type: 'BeginSend'; upload?: true; suspensionsKnownAt?: string; gateHolds?: number } & SignedBy)
  | { type: 'RecordSendAnswer'; attempt: number; answer: SendAnswer }
  | ({
      type: 'RecordLookUp';
      attempt: number;
      /** The round of the upload that the look-up is about. */
      round?: number;
    } & FoundDocuments &
      LookUpFacts)
  | { type: 'BeginFinish'; attempt: number; round: number }
  | { type: 'RecordUploadAnswer'; attempt: number; round: number; answer: UploadAnswer }
  | { type: 'ObserveStatus'; status: RegistryStatus; answerSha256: Sha256 }
  | { type: 'RecordReceipt'; receipt: Omit<ReceiptStored['data'], 'documentId'> }
  | { type: 'RecordDownload'; documentSha256: Sha256 }
  | { type: 'ConcludeNotProcessed'; because: DocumentNotProcessed['data'] }
  | { type: 'NoteSuperseded'; by: DocumentReference; groupId: string }
  | { type: 'NoteResent'; by: DocumentReference };

export type SendAnswer =
  | { kind: 'sent'; documentId: string; answerSha256: Sha256 }
  /** A large document was announced: its bytes may go up. */
  | { kind: 'announced'; documentId: string }
  | CallAnswer;

/**
 * The events that follow from a command in a state; none when the command says nothing new, which makes every repeat
 * harmless.
 */
export function decide(state: DocumentState, command: DocumentCommand): DocumentEvent[] {
  switch (command.type) {
    case 'Register':
      return register(state, command.registration);
    case 'NotePredecessor':
      return notePredecessor(state, command);
    case 'WaiveHolds':
    case 'EndHeld':
    case 'WaitForItems':
    case 'LiftItemWait':
    case 'LapseHolds':
    case 'RefuseRing':
    case 'HoldAtGate':
    case 'WarnAtGate':
    case 'RejudgeAtGate':
    case 'HoldByPerson':
    case 'HoldForSuspension':
    case 'WarnOfSuspension':
    case 'RejudgeSuspension':
      return decideWait(state, command);
    case 'BeginSend':
      return beginSend(state, command);
    case 'RecordSendAnswer':
      return recordSendAnswer(state, command);
    case 'BeginFinish':
    case 'RecordUploadAnswer':
      return decideUpload(state, command);
    case 'RecordLookUp':
    case 'ObserveStatus':
    case 'RecordReceipt':
    case 'RecordDownload':
      return recordSeen(state, command);
    case 'ConcludeNotProcessed':
    case 'NoteResent':
    case 'NoteSuperseded':
      return noteReplaced(state, command);
    default:
      return neverReached(command, 'document command');
  }
}

function recordSeen(
  state: DocumentState,
  command: Extract<DocumentCommand, { type: 'RecordLookUp' | 'ObserveStatus' | 'RecordReceipt' | 'RecordDownload' }>,
): DocumentEvent[] {
  if (command.type === 'RecordLookUp') return recordLookUp(state, command);
  if (command.type === 'ObserveStatus') return observeStatus(state, command);
  return command.type === 'RecordReceipt'
    ? recordReceipt(state, command.receipt)
    : recordDownload(state, command.documentSha256);
}

function noteReplaced(
  state: DocumentState,
  command: Extract<DocumentCommand, { type: 'ConcludeNotProcessed' | 'NoteResent' | 'NoteSuperseded' }>,
): DocumentEvent[] {
  if (command.type === 'ConcludeNotProcessed') return concludeNotProcessed(state, command.because);
  return command.type === 'NoteResent' ? noteResent(state, command.by) : noteSuperseded(state, command);
}

function decideUpload(
  state: DocumentState,
  command: Extract<DocumentCommand, { type: 'BeginFinish' | 'RecordUploadAnswer' }>,
): DocumentEvent[] {
  if (command.type === 'BeginFinish') return state.phase === 'uploading' ? beginFinish(state, command) : [];
  const { attempt, answer } = command;
  if (state.phase === 'uploading' && state.attempt === attempt) return recordUploadAnswer(state, command);
  // Whoever finished it was thought dead, and its announcement absent.
  return answer.kind === 'sent' ? recordSent(state, attempt, answer) : [];
}

function register(state: DocumentState, registration: Registration): DocumentEvent[] {
  if (state.phase !== 'absent') return [];
  const registered: DocumentEvent = { type: 'DocumentRegistered', data: registration };
  return registration.after.length === 0
    ? [registered]
    : [registered, { type: 'DocumentWaiting', data: { for: registration.after } }];
}

function notePredecessor(
  state: DocumentState,
  command: Extract<DocumentCommand, { type: 'NotePredecessor' }>,
): DocumentEvent[] {
  const judged = state.phase === 'waiting' ? judgeNews(state, command) : undefined;
  if (state.phase !== 'waiting' || judged === undefined) return [];
  const { requestId, outcome, by, endAtOnceDocTypes = [] } = command;
  const noted: DocumentEvent = {
    type: 'PredecessorConcluded',
    data: { requestId, outcome, ...defined({ by }) },
  };
  if (judged.kind === 'lifted') return judged.isLast ? [noted, releasedBy(state)] : [noted];
  const { hold } = judged;
  if (hold.kind === 'after' && endAtOnceDocTypes.includes(state.registration.docType))
    return [noted, ...endedFor(state.registration, hold)];
  return [noted, { type: 'DocumentHeld', data: { hold } }];
}

function beginSend(
  state: DocumentState,
  { type: _, gateHolds, ...signed }: Extract<DocumentCommand, { type: 'BeginSend' }>,
): DocumentEvent[] {
  if (isToSend(state) && gateHolds !== undefined && isPlannedBeforeHold(state, gateHolds)) return [];
  const begun = isToSend(state) ? decideAttempt(state.send, { type: 'Begin' }, SEND_POLICY) : undefined;
  if (!isToSend(state) || begun === undefined) return [];
  return [
    { type: 'SendAttempted', data: { attempt: begun.data.attempt, account: state.registration.account, ...signed } },
  ];
}

function recordSendAnswer(
  state: DocumentState,
  { attempt, answer }: { attempt: number; answer: SendAnswer },
): DocumentEvent[] {
  if (answer.kind === 'announced') return recordAnnounced(state, attempt, answer.documentId);
  if (answer.kind === 'sent') return recordSent(state, attempt, answer);
  if (!isToSend(state)) return [];
  return sendEvents(
    decideAttempt(state.send, { type: 'RecordAnswer', attempt, answer }, SEND_POLICY),
    state.registration,
  );
}

/**
 * The registry has the document. That counts also when nobody waited for the answer any more, because its process was
 * thought dead: nothing may be sent again. When another attempt got through as well, the registry has two (principles
 * 2.2); when it was ended as not sent, it has one too many.
 */
function recordSent(
  state: DocumentState,
  attempt: number,
  { documentId, answerSha256 }: Extract<SendAnswer, { kind: 'sent' }>,
): DocumentEvent[] {
  const sent: DocumentEvent = {
    type: 'DocumentSent',
    data: { attempt, documentId, answerSha256, foundByLookUp: false },
  };
  switch (state.phase) {
    case 'ready':
    case 'sending':
    case 'unconfirmed':
      return hasBegun(state.send, attempt) ? [sent] : [];
    case 'uploading':
      return attempt <= state.attempt ? [sent] : [];
    case 'sent':
    case 'received':
    case 'concluded': {
      const known = state.documentId;
      if (known === documentId || (known === undefined && !hasTried(state, attempt))) return [];
      const documentIds = known === undefined ? [documentId] : [known, documentId];
      return [{ type: 'DuplicateDetected', data: { documentIds, answerSha256 } }];
    }
    case 'waiting':
      return hasTried(state, attempt) ? [sent] : [];
    case 'absent':
    case 'refused':
      return [];
    default:
      return neverReached(state, 'document state');
  }
}

const hasTried = (state: DocumentState, attempt: number): boolean =>
  'tried' in state && state.tried !== undefined && hasBegun(state.tried, attempt);

/**
 * The registry waits for the document's bytes. The same answer after somebody else took over still tells where they go:
 * it takes the place of the attempt that was to come, and has numbers of its own. A second announcement that got
 * through as well is found by the look-up that follows every doubt.
 */
const recordAnnounced = (state: DocumentState, attempt: number, documentId: string): DocumentEvent[] =>
  isToSend(state) && hasBegun(state.send, attempt)
    ? [{ type: 'UploadOpened', data: { attempt: state.send.attempt, documentId, foundByLookUp: false } }]
    : [];

type LookUp = Extract<DocumentCommand, { type: 'RecordLookUp' }>;

function recordLookUp(state: DocumentState, command: LookUp): DocumentEvent[] {
  if (state.phase === 'absent') return [];
  const { attempt, round } = command;
  const duplicate = duplicateIn(state, command);
  if (state.phase === 'uploading')
    return state.attempt === attempt && state.finish.attempt === round && state.finish.step === 'doubtful'
      ? [...lookedUp(state, command), ...duplicate]
      : duplicate;
  // Before its first attempt a document is looked up where a list has shown its request_id: the registry has it from a
  // time that we do not know of.
  return isToSend(state) && state.phase !== 'sending' && state.send.attempt === attempt
    ? [...sendLookedUp(state, command), ...duplicate]
    : duplicate;
}

/** The alarm where the look-up shows another document than the one we know, or several. */
function duplicateIn(state: DocumentState, { documentIds: found, answerSha256 }: LookUp): DocumentEvent[] {
  const known = 'documentId' in state ? state.documentId : undefined;
  const documentIds = [...new Set(known === undefined ? found : [known, ...found])];
  return documentIds.length < 2 ? [] : [{ type: 'DuplicateDetected', data: { documentIds, answerSha256 } }];
}

function sendLookedUp(state: ToSend, command: LookUp): DocumentEvent[] {
  const { type, attempt, documentIds: _, uploading, failed: __, ...facts } = command;
  const documentId = ourOf(command);
  if (documentId === undefined) {
    const seen = { type, attempt, isDone: false, ...facts };
    return sendEvents(decideAttempt(state.send, seen, SEND_POLICY), state.registration);
  }
  const isOpen = uploading?.includes(documentId) === true && (state.phase === 'ready' || state.upload === true);
  const data = { attempt, documentId, answerSha256: facts.answerSha256, foundByLookUp: true };
  return [{ type: isOpen ? 'UploadOpened' : 'DocumentSent', data }];
}

function observeStatus(
  state: DocumentState,
  command: { status: RegistryStatus; answerSha256: Sha256 },
): DocumentEvent[] {
  if (state.phase !== 'sent' && state.phase !== 'concluded') return [];
  if (state.documentId === undefined || state.status === command.status) return [];
  const observed: DocumentEvent = {
    type: 'StatusObserved',
    data: { documentId: state.documentId, status: command.status, answerSha256: command.answerSha256 },
  };
  return state.phase === 'sent' && command.status === 'failed'
    ? [observed, failed(state.registration, 'registry_failed')]
    : [observed];
}

function recordReceipt(state: DocumentState, receipt: Omit<ReceiptStored['data'], 'documentId'>): DocumentEvent[] {
  const open = state.phase === 'sent' || (state.phase === 'concluded' && state.outcome === 'failed');
  if (!open || state.documentId === undefined) return [];
  const stored: DocumentEvent = { type: 'ReceiptStored', data: { documentId: state.documentId, ...receipt } };
  const conclusion: DocumentConcluded['data'] = {
    outcome: receipt.result,
    docType: state.registration.docType,
    documentSha256: state.registration.documentSha256,
    receiptSha256: receipt.receiptSha256,
    acceptedAt: receipt.acceptedAt,
  };
  return state.phase === 'sent'
    ? [stored, { type: 'DocumentConcluded', data: conclusion }]
    : [stored, { type: 'ConclusionRevised', data: { ...conclusion, previousOutcome: state.outcome } }];
}

function recordDownload(state: DocumentState, documentSha256: Sha256): DocumentEvent[] {
  if (!('documentId' in state) || state.documentId === undefined) return [];
  const sameBytes = documentSha256 === state.registration.documentSha256;
  return [{ type: 'DocumentDownloaded', data: { documentId: state.documentId, documentSha256, sameBytes } }];
}

/**
 * Only what nobody sends now, be it held or not, or what lies at the registry without a final status. While an attempt
 * is open nobody knows what there is to conclude, and whoever asked has to ask again.
 */
function concludeNotProcessed(state: DocumentState, because: DocumentNotProcessed['data']): DocumentEvent[] {
  const untouched =
    state.phase === 'ready' ||
    state.phase === 'waiting' ||
    (state.phase === 'sent' &&
      (state.status === undefined || state.status === 'uploading' || state.status === 'processing'));
  if (!untouched || state.registration.group?.groupId !== because.groupId) return [];
  return [{ type: 'DocumentNotProcessed', data: because }, failed(state.registration, 'not_processed')];
}

function noteSuperseded(
  state: DocumentState,
  { by, groupId }: { by: DocumentReference; groupId: string },
): DocumentEvent[] {
  return state.phase === 'concluded' && state.supersededBy === undefined
    ? [{ type: 'DocumentSuperseded', data: { by, groupId } }]
    : [];
}

/** Once: by whom it was sent again first stays. */
function noteResent(state: DocumentState, by: DocumentReference): DocumentEvent[] {
  return state.phase === 'concluded' && state.resentAs === undefined ? [{ type: 'DocumentResent', data: { by } }] : [];
}
