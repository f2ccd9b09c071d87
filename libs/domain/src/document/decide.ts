import { neverReached, type Sha256 } from '#kernel';
import type { AccountCause } from '../account/events.js';
import type {
  AfterHold,
  DocumentConcluded,
  DocumentEvent,
  DocumentNotProcessed,
  DocumentReference,
  ReceiptStored,
  RegistryStatus,
} from './events.js';
import { decidedHolds, isFreeWithout, judgeNews, type HoldDecision, type PredecessorNews } from './hold.js';
import type { DocumentState, Registration } from './state.js';
import { beginFinish, lookedUp, recordUploadAnswer, type UploadAnswer } from './upload.js';

/**
 * What may be asked of a document. Answers of the registry come as commands too: what happened is decided here, once.
 */
export type DocumentCommand =
  | { type: 'Register'; registration: Registration }
  | ({ type: 'NotePredecessor' } & PredecessorNews & {
        /** Types of document that this installation ends, and does not hold, when a predecessor ends badly. */ endAtOnceDocTypes?: readonly number[];
      })
  | ({ type: 'WaiveHolds' } & HoldDecision)
  | ({ type: 'EndHeld' } & HoldDecision)
  | {
      type: 'BeginSend';
      /** Both are absent where the account does not sign. */ signatureSha256?: Sha256;
      certificateSha256?: Sha256;
      /** The call only announces it. */ upload?: true;
    }
  | { type: 'RecordSendAnswer'; attempt: number; answer: SendAnswer }
  | {
      type: 'RecordLookUp';
      attempt: number;
      documentIds: string[];
      /**
       * Those of them whose upload the registry shows still open; and the round of the upload that the look-up is
       * about.
       */
      uploading?: string[];
      round?: number;
      sinceAttemptEndedMs: number;
      unknownGraceMs: number;
      answerSha256: Sha256;
    }
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
  | { kind: 'refused'; code: string; text: string; answerSha256: Sha256 }
  /** The registry said no to the account: signature, certificate, rights. It says nothing of the document. */
  | {
      kind: 'account_refused';
      cause: AccountCause;
      code: string;
      text: string;
      retryAfterMs: number;
      answerSha256: Sha256;
    }
  | { kind: 'not_delivered'; reason: string; retryAfterMs: number; answerSha256?: Sha256 }
  | { kind: 'unconfirmed'; reason: string; answerSha256?: Sha256 };

/** A look-up is believed only from the second on (principles 6.8). */
const LOOK_UPS_TO_PROVE_ABSENCE = 2;
/** A refusal after so many attempts that were proven absent is the document's fault. */
const DOUBTS_TO_BELIEVE_A_NO = 3;

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
      return waiveHolds(state, command);
    case 'EndHeld':
      return endHeld(state, command);
    case 'BeginSend':
      return beginSend(state, command);
    case 'RecordSendAnswer':
      return recordSendAnswer(state, command);
    case 'RecordLookUp':
      return recordLookUp(state, command);
    case 'BeginFinish':
      return state.phase === 'uploading' ? beginFinish(state, command) : [];
    case 'RecordUploadAnswer':
      return state.phase === 'uploading' ? recordUploadAnswer(state, command) : [];
    case 'ObserveStatus':
      return observeStatus(state, command);
    case 'RecordReceipt':
      return recordReceipt(state, command.receipt);
    case 'RecordDownload':
      return recordDownload(state, command.documentSha256);
    case 'ConcludeNotProcessed':
      return concludeNotProcessed(state, command.because);
    case 'NoteResent':
      return noteResent(state, command.by);
    case 'NoteSuperseded':
      return noteSuperseded(state, command);
    default:
      return neverReached(command, 'document command');
  }
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
    data: { requestId, outcome, ...(by === undefined ? {} : { by }) },
  };
  if (judged.kind === 'lifted') return judged.isLast ? [noted, { type: 'DocumentReleased', data: {} }] : [noted];
  const { hold } = judged;
  if (endAtOnceDocTypes.includes(state.registration.docType)) return [noted, ...endedFor(state.registration, hold)];
  return [noted, { type: 'DocumentHeld', data: { hold } }];
}

function endedFor(registration: Registration, hold: AfterHold): DocumentEvent[] {
  const refused: DocumentEvent = {
    type: 'DocumentRefused',
    data: { predecessor: hold.for, predecessorOutcome: hold.outcome },
  };
  return [refused, failed(registration, 'predecessor_failed')];
}

function waiveHolds(state: DocumentState, command: HoldDecision): DocumentEvent[] {
  const holds = state.phase === 'waiting' ? decidedHolds(state, command) : [];
  if (state.phase !== 'waiting' || holds.length === 0) return [];
  const waived: DocumentEvent = { type: 'HoldWaived', data: { holds } };
  return isFreeWithout(state, holds) ? [waived, { type: 'DocumentReleased', data: {} }] : [waived];
}

function endHeld(state: DocumentState, command: HoldDecision): DocumentEvent[] {
  const [hold] = state.phase === 'waiting' ? decidedHolds(state, command) : [];
  return state.phase === 'waiting' && hold !== undefined ? endedFor(state.registration, hold) : [];
}

function beginSend(
  state: DocumentState,
  { type: _, ...signed }: Extract<DocumentCommand, { type: 'BeginSend' }>,
): DocumentEvent[] {
  if (state.phase !== 'ready') return [];
  return [
    { type: 'SendAttempted', data: { attempt: state.nextAttempt, account: state.registration.account, ...signed } },
  ];
}

function recordSendAnswer(state: DocumentState, command: { attempt: number; answer: SendAnswer }): DocumentEvent[] {
  const { answer } = command;
  if (answer.kind === 'announced') return recordAnnounced(state, command.attempt, answer.documentId);
  if (state.phase !== 'sending' || state.attempt !== command.attempt)
    return answer.kind === 'sent' ? sentAfterAll(state, command.attempt, answer) : [];
  const { attempt } = state;
  switch (answer.kind) {
    case 'sent':
      return [
        {
          type: 'DocumentSent',
          data: { attempt, documentId: answer.documentId, answerSha256: answer.answerSha256, foundByLookUp: false },
        },
      ];
    case 'refused':
    case 'account_refused': {
      const { code, text, answerSha256 } = answer;
      // An attempt that counted as absent may have landed since, and this one be refused as its second: that is looked
      // up, and not believed.
      const { doubts = 0 } = state;
      const words = text === '' ? code : text;
      if (doubts > 0 && doubts < DOUBTS_TO_BELIEVE_A_NO)
        return [
          {
            type: 'SendUnconfirmed',
            data: { attempt, reason: `refused after an attempt of unknown outcome: ${words}`, answerSha256 },
          },
        ];
      if (answer.kind === 'account_refused')
        return [
          {
            type: 'SendNotDelivered',
            data: {
              attempt,
              reason: words,
              retryAfterMs: answer.retryAfterMs,
              answerSha256,
              accountCause: answer.cause,
            },
          },
        ];
      return [
        { type: 'SendRefused', data: { attempt, code, text, answerSha256 } },
        failed(state.registration, 'send_refused'),
      ];
    }
    case 'not_delivered': {
      const { kind: _, ...rest } = answer;
      return [{ type: 'SendNotDelivered', data: { attempt, ...rest } }];
    }
    case 'unconfirmed': {
      const { kind: _, ...rest } = answer;
      return [{ type: 'SendUnconfirmed', data: { attempt, ...rest } }];
    }
    default:
      return neverReached(answer, 'send answer');
  }
}

/**
 * The answer of a send that nobody waited for any more: its process was thought dead. It still says that the registry
 * has the document, so nothing may be sent again; and when another attempt got through as well, the registry has two
 * (principles 2.2).
 */
function sentAfterAll(
  state: DocumentState,
  attempt: number,
  answer: Extract<SendAnswer, { kind: 'sent' }>,
): DocumentEvent[] {
  const { documentId, answerSha256 } = answer;
  switch (state.phase) {
    case 'ready':
      return attempt < state.nextAttempt
        ? [{ type: 'DocumentSent', data: { attempt, documentId, answerSha256, foundByLookUp: false } }]
        : [];
    case 'sending':
    case 'unconfirmed':
    case 'uploading':
      return attempt <= state.attempt
        ? [{ type: 'DocumentSent', data: { attempt, documentId, answerSha256, foundByLookUp: false } }]
        : [];
    case 'sent':
    case 'received':
    case 'concluded': {
      const known = state.documentId;
      return known === undefined || known === documentId
        ? []
        : [{ type: 'DuplicateDetected', data: { documentIds: [known, documentId], answerSha256 } }];
    }
    case 'absent':
    case 'waiting':
    case 'refused':
      return [];
    default:
      return neverReached(state, 'document state');
  }
}

/**
 * The registry waits for the document's bytes. The same answer after somebody else took over still tells where they go;
 * a second announcement that got through as well is found by the look-up that follows every doubt.
 */
function recordAnnounced(state: DocumentState, attempt: number, documentId: string): DocumentEvent[] {
  const opened = (by: number): DocumentEvent[] => [
    { type: 'UploadOpened', data: { attempt: by, documentId, foundByLookUp: false } },
  ];
  if (state.phase === 'sending' || state.phase === 'unconfirmed')
    return attempt <= state.attempt ? opened(state.attempt) : [];
  // It takes the place of the attempt that was to come: what follows it must have numbers of its own.
  return state.phase === 'ready' && attempt < state.nextAttempt ? opened(state.nextAttempt) : [];
}

function recordLookUp(
  state: DocumentState,
  command: Extract<DocumentCommand, { type: 'RecordLookUp' }>,
): DocumentEvent[] {
  if (state.phase === 'absent') return [];
  const { attempt, sinceAttemptEndedMs, answerSha256 } = command;
  const ours = 'documentId' in state ? state.documentId : undefined;
  const documentIds = [...new Set([...(ours === undefined ? [] : [ours]), ...command.documentIds])];
  const [documentId, ...others] = documentIds;
  const duplicate: DocumentEvent[] =
    others.length === 0 ? [] : [{ type: 'DuplicateDetected', data: { documentIds, answerSha256 } }];
  if (state.phase === 'uploading')
    return state.attempt === attempt && state.round === command.round && state.step === 'doubtful'
      ? [...lookedUp(state, command), ...duplicate]
      : duplicate;
  // Before its first attempt a document is looked up where a list has shown its request_id: the registry has it from a
  // time that we do not know of.
  const isReadyFor = state.phase === 'ready' && state.nextAttempt === attempt;
  if (!isReadyFor && (state.phase !== 'unconfirmed' || state.attempt !== attempt)) return duplicate;
  if (documentId !== undefined) {
    const found: DocumentEvent =
      (state.phase === 'ready' || state.upload === true) && command.uploading?.includes(documentId) === true
        ? { type: 'UploadOpened', data: { attempt, documentId, foundByLookUp: true, answerSha256 } }
        : { type: 'DocumentSent', data: { attempt, documentId, answerSha256, foundByLookUp: true } };
    return [found, ...duplicate];
  }
  if (state.phase === 'ready') return duplicate;
  const lookUp = state.lookUps + 1;
  const absent = lookUp >= LOOK_UPS_TO_PROVE_ABSENCE && sinceAttemptEndedMs >= command.unknownGraceMs;
  return absent
    ? [{ type: 'SendAbsenceProven', data: { attempt, lookUps: lookUp, sinceAttemptEndedMs, answerSha256 } }]
    : [{ type: 'LookUpMissed', data: { attempt, lookUp, sinceAttemptEndedMs, answerSha256 } }];
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
 * Only what was never tried, or lies at the registry without a final status. While an attempt is open nobody knows what
 * there is to conclude, and whoever asked has to ask again.
 */
function concludeNotProcessed(state: DocumentState, because: DocumentNotProcessed['data']): DocumentEvent[] {
  const untouched =
    state.phase === 'ready' ||
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

function failed(registration: Registration, cause: NonNullable<DocumentConcluded['data']['cause']>): DocumentConcluded {
  const { docType, documentSha256 } = registration;
  return { type: 'DocumentConcluded', data: { outcome: 'failed', cause, docType, documentSha256 } };
}
