import { neverReached, type Sha256 } from '#kernel';
import type { DocumentConcluded, DocumentEvent, DocumentRegistered, LookUpMissed } from './events.js';
import type { UploadEvent, UploadOpened } from './upload-events.js';

type Registration = DocumentRegistered['data'];

/** A large document that was announced and is not finished yet. */
export interface Uploading {
  phase: 'uploading';
  registration: Registration;
  attempt: number;
  documentId: string;
  round: number;
  /**
   * `open`: parts may go up. `finishing`: the intent to finish is recorded. `doubtful`: it has to be looked up first.
   */
  step: 'open' | 'finishing' | 'doubtful';
  /** Look-ups since it became doubtful, and those of them that did not find the document at all. */
  lookUps: number;
  missed: number;
  /** Times that the registry said no, and whether that is what is doubtful now. */
  refusals: number;
  refused: boolean;
  /** It may have been finished before: an end of it was left without an answer, or it was found by a look-up. */
  maybeFinished: boolean;
}

/** What the registry said to a part or to the end; `sent`: the document is taken. */
export type UploadAnswer =
  | { kind: 'sent'; answerSha256: Sha256 }
  | { kind: 'refused'; code: string; text: string; answerSha256: Sha256 }
  | { kind: 'not_delivered'; reason: string; retryAfterMs: number; answerSha256?: Sha256 }
  | { kind: 'unconfirmed'; reason: string; answerSha256?: Sha256 };

/** An upload that the registry refuses so often is the document's fault, not the line's. */
const MOST_REFUSALS = 3;
const LOOK_UPS_TO_PROVE = 2;

export function openedUpload(
  registration: Registration,
  { attempt, documentId, foundByLookUp }: UploadOpened['data'],
): Uploading {
  return {
    phase: 'uploading',
    registration,
    attempt,
    documentId,
    round: 1,
    step: 'open',
    lookUps: 0,
    missed: 0,
    refusals: 0,
    refused: false,
    maybeFinished: foundByLookUp,
  };
}

/** The state after one more event of an open upload. */
export function evolveUpload(state: Uploading, event: Exclude<UploadEvent, UploadOpened> | LookUpMissed): Uploading {
  switch (event.type) {
    case 'UploadFinishAttempted':
      return { ...state, step: 'finishing' };
    case 'UploadFinishNotDelivered':
    case 'UploadProvenOpen':
      return { ...state, step: 'open', round: event.data.round + 1 };
    case 'UploadFinishUnconfirmed':
      return { ...state, step: 'doubtful', lookUps: 0, missed: 0, refused: false, maybeFinished: true };
    case 'UploadRefused':
      return { ...state, step: 'doubtful', lookUps: 0, missed: 0, refusals: state.refusals + 1, refused: true };
    case 'UploadSeenOpen':
      return { ...state, lookUps: event.data.lookUp };
    case 'LookUpMissed':
      return { ...state, lookUps: event.data.lookUp, missed: state.missed + 1 };
    default:
      return neverReached(event, 'upload event');
  }
}

/** All parts are there: the intent to finish, once. */
export function beginFinish(state: Uploading, at: { attempt: number; round: number }): DocumentEvent[] {
  if (!isIn(state, at) || state.step !== 'open') return [];
  return [
    {
      type: 'UploadFinishAttempted',
      data: { attempt: state.attempt, round: state.round, documentId: state.documentId },
    },
  ];
}

export function recordUploadAnswer(
  state: Uploading,
  command: { attempt: number; round: number; answer: UploadAnswer },
): DocumentEvent[] {
  const { answer } = command;
  const { attempt, round, documentId } = state;
  // Good news counts whenever it comes, also after somebody else took over and doubted.
  if (answer.kind === 'sent')
    return attempt === command.attempt
      ? [
          {
            type: 'DocumentSent',
            data: { attempt, documentId, answerSha256: answer.answerSha256, foundByLookUp: false },
          },
        ]
      : [];
  if (!isIn(state, command)) return [];
  switch (answer.kind) {
    case 'refused': {
      const { code, text, answerSha256 } = answer;
      if (state.step === 'doubtful') return [];
      if (state.refusals + 1 < MOST_REFUSALS)
        return [{ type: 'UploadRefused', data: { attempt, round, code, text, answerSha256 } }];
      return [{ type: 'SendRefused', data: { attempt, code, text, answerSha256 } }, refusedForGood(state.registration)];
    }
    case 'not_delivered': {
      const { kind: _, ...rest } = answer;
      return state.step === 'finishing'
        ? [{ type: 'UploadFinishNotDelivered', data: { attempt, round, ...rest } }]
        : [];
    }
    case 'unconfirmed': {
      const { kind: _, ...rest } = answer;
      return state.step === 'finishing' ? [{ type: 'UploadFinishUnconfirmed', data: { attempt, round, ...rest } }] : [];
    }
    default:
      return neverReached(answer, 'upload answer');
  }
}

/** What a look-up tells of an upload in doubt: taken, still open, or not there at all. */
export function lookedUp(
  state: Uploading,
  seen: {
    documentIds: string[];
    uploading?: string[];
    sinceAttemptEndedMs: number;
    unknownGraceMs: number;
    answerSha256: Sha256;
  },
): DocumentEvent[] {
  const { attempt, round, documentId } = state;
  const { sinceAttemptEndedMs, answerSha256 } = seen;
  const lookUps = state.lookUps + 1;
  const facts = { sinceAttemptEndedMs, answerSha256 };
  const isLate = sinceAttemptEndedMs >= seen.unknownGraceMs;
  const [other] = seen.documentIds;
  if (!seen.documentIds.includes(documentId)) {
    // Another one under its request_id, of an earlier attempt that landed late: nothing is announced again while that
    // is there.
    if (other !== undefined && seen.uploading?.includes(other) !== true)
      return [{ type: 'DocumentSent', data: { attempt, documentId: other, answerSha256, foundByLookUp: true } }];
    if (state.missed + 1 < LOOK_UPS_TO_PROVE || !isLate)
      return [{ type: 'LookUpMissed', data: { attempt, lookUp: lookUps, ...facts } }];
    const absent: DocumentEvent = { type: 'SendAbsenceProven', data: { attempt, lookUps, ...facts } };
    // Its bytes go where the registry still waits for them. That takes the place of the attempt that was to come, and
    // has numbers of its own.
    return other === undefined
      ? [absent]
      : [
          absent,
          {
            type: 'UploadOpened',
            data: { attempt: attempt + 1, documentId: other, foundByLookUp: true, answerSha256 },
          },
        ];
  }
  if (seen.uploading?.includes(documentId) !== true)
    return [{ type: 'DocumentSent', data: { attempt, documentId, answerSha256, foundByLookUp: true } }];
  // Until its group is started a member that was finished is shown as one that is still open. So what may have been
  // finished, and is refused now, was: the group's check has the last word on it.
  if (state.refused && state.maybeFinished && state.registration.group !== undefined)
    return [{ type: 'DocumentSent', data: { attempt, documentId, answerSha256, foundByLookUp: true } }];
  // What was refused surely did nothing; what was left without an answer may still land.
  const open = state.refused || (lookUps >= LOOK_UPS_TO_PROVE && isLate);
  return open
    ? [{ type: 'UploadProvenOpen', data: { attempt, round, lookUps, ...facts } }]
    : [{ type: 'UploadSeenOpen', data: { attempt, round, lookUp: lookUps, ...facts } }];
}

const isIn = (state: Uploading, at: { attempt: number; round: number }): boolean =>
  state.attempt === at.attempt && state.round === at.round;

const refusedForGood = ({ docType, documentSha256 }: Registration): DocumentConcluded => ({
  type: 'DocumentConcluded',
  data: { outcome: 'failed', cause: 'send_refused', docType, documentSha256 },
});
