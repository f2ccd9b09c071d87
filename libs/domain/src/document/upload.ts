import { neverReached, type Sha256 } from '#kernel';
import {
  evolveAttempt,
  FIRST_ATTEMPT,
  mayBeOthers,
  type Attempt,
  type AttemptFact,
  type CallAnswer,
} from '../attempt/attempt.js';
import { decideAttempt, proves, TWO_PAST_GRACE, type AttemptPolicy, type LookUpFacts } from '../attempt/decide.js';
import type { DocumentEvent, LookUpMissed, Registration } from './events.js';
import { ourOf, type FoundDocuments } from './found.js';
import type { AtGate } from './gate.js';
import { failed } from './send-attempt.js';
import type { UploadEvent, UploadOpened } from './upload-events.js';

/** A large document that was announced and is not finished yet. */
export interface Uploading {
  phase: 'uploading';
  registration: Registration;
  attempt: number;
  documentId: string;
  /** The call that ends it; its number is the round. While it is open, parts may go up. */
  finish: Attempt;
  /** Look-ups since it became doubtful that did not find the document at all. */
  missed: number;
  /** It may have been finished before: an end of it was left without an answer, or it was found by a look-up. */
  maybeFinished: boolean;
  /** What is known of it from before its send: an announcement may turn out to be absent. */
  itemWaits?: number;
  gate?: AtGate;
}

/** What the registry said to a part or to the end; `sent`: the document is taken. */
export type UploadAnswer = { kind: 'sent'; documentId: string; answerSha256: Sha256 } | CallAnswer;

/** An upload that the registry refuses so often is the document's fault, not the line's. */
const MOST_REFUSALS = 3;

/**
 * What was refused surely did nothing; what was left without an answer may still land, and so may what a server before
 * the registry refused.
 */
export const FINISH_POLICY: AttemptPolicy = {
  believes: (refusal, { refusals }) =>
    refusal.kind === 'account_refused' || refusals + 1 >= MOST_REFUSALS + Number(mayBeOthers(refusal)),
  proof: TWO_PAST_GRACE,
  proofAfterRefusal: { lookUps: 1, isPastGrace: false },
};

export const openedUpload = (
  registration: Registration,
  { attempt, documentId, foundByLookUp: maybeFinished }: UploadOpened['data'],
): Uploading => ({
  phase: 'uploading',
  registration,
  attempt,
  documentId,
  finish: FIRST_ATTEMPT,
  missed: 0,
  maybeFinished,
});

const STEPS = {
  UploadFinishAttempted: 'begun',
  UploadFinishNotDelivered: 'not_delivered',
  UploadFinishUnconfirmed: 'unconfirmed',
  UploadRefused: 'doubted',
  UploadSeenOpen: 'missed',
  LookUpMissed: 'missed',
  UploadProvenOpen: 'proven_undone',
} as const;

/** The state after one more event of an open upload. */
export function evolveUpload(state: Uploading, event: Exclude<UploadEvent, UploadOpened> | LookUpMissed): Uploading {
  const { type, data } = event;
  const round = type === 'LookUpMissed' ? state.finish.attempt : event.data.round;
  const finish = evolveAttempt(state.finish, { type: STEPS[type], data: { ...data, attempt: round } });
  const missed = type === 'LookUpMissed' ? state.missed + 1 : state.missed;
  return {
    ...state,
    finish,
    missed: finish.lookUps === 0 ? 0 : missed,
    maybeFinished: state.maybeFinished || type === 'UploadFinishUnconfirmed',
  };
}

/** How a fact about the end of an upload is written into the log. */
function finishEvents(state: Uploading, fact: AttemptFact | undefined): DocumentEvent[] {
  if (fact === undefined) return [];
  const { attempt, documentId } = state;
  const at = { attempt, round: fact.data.attempt };
  switch (fact.type) {
    case 'begun':
      return [{ type: 'UploadFinishAttempted', data: { ...at, documentId } }];
    case 'done':
      return [{ type: 'DocumentSent', data: { ...fact.data, attempt, documentId } }];
    case 'refused':
      return [{ type: 'SendRefused', data: { ...fact.data, attempt } }, failed(state.registration, 'send_refused')];
    case 'doubted': {
      const { refusal } = fact.data;
      const { code, text, answerSha256 } = refusal;
      const others = mayBeOthers(refusal) ? ({ mayBeOthers: true } as const) : {};
      return [{ type: 'UploadRefused', data: { ...at, code, text, answerSha256, ...others } }];
    }
    case 'not_delivered': {
      const { accountCause: _, ...data } = fact.data;
      return [{ type: 'UploadFinishNotDelivered', data: { ...data, ...at } }];
    }
    case 'unconfirmed':
      return [{ type: 'UploadFinishUnconfirmed', data: { ...fact.data, ...at } }];
    case 'missed':
      return [{ type: 'UploadSeenOpen', data: { ...fact.data, ...at } }];
    case 'proven_undone':
      return [{ type: 'UploadProvenOpen', data: { ...fact.data, ...at } }];
    default:
      return neverReached(fact, 'fact about the end of an upload');
  }
}

const isIn = (state: Uploading, at: { attempt: number; round: number }): boolean =>
  state.attempt === at.attempt && state.finish.attempt === at.round;

/** All parts are there: the intent to finish, once. */
export const beginFinish = (state: Uploading, at: { attempt: number; round: number }): DocumentEvent[] =>
  isIn(state, at) ? finishEvents(state, decideAttempt(state.finish, { type: 'Begin' }, FINISH_POLICY)) : [];

/** An answer to a part or to the end of this upload, in whatever round. */
export function recordUploadAnswer(
  state: Uploading,
  { round, answer }: { round: number; answer: UploadAnswer },
): DocumentEvent[] {
  // A part may be refused as the end may.
  const isAhead = answer.kind === 'refused' && state.finish.step === 'open' && state.finish.attempt === round;
  const said = answer.kind === 'sent' ? ({ kind: 'done', answerSha256: answer.answerSha256 } as const) : answer;
  const fact = decideAttempt(
    state.finish,
    isAhead ? { type: 'RefuseAhead', refusal: answer } : { type: 'RecordAnswer', attempt: round, answer: said },
    FINISH_POLICY,
  );
  return finishEvents(state, fact);
}

type Seen = LookUpFacts & FoundDocuments;

/** What a look-up tells of an upload in doubt: taken, still open, or not there at all. */
export function lookedUp(state: Uploading, { documentIds, uploading = [], ...facts }: Seen): DocumentEvent[] {
  const { finish, documentId, registration } = state;
  if (!documentIds.includes(documentId)) return notThere(state, { documentIds, uploading, ...facts });
  // Until its group is started a member that was finished is shown as one that is still open. So what may have been
  // finished, and is refused now, was: the group's check has the last word on it.
  const wasFinished = finish.wasRefused && state.maybeFinished && registration.group !== undefined;
  const isDone = wasFinished || !uploading.includes(documentId);
  const { sinceAttemptEndedMs, unknownGraceMs, answerSha256 } = facts;
  const seen = { attempt: finish.attempt, isDone, sinceAttemptEndedMs, unknownGraceMs, answerSha256 };
  return finishEvents(state, decideAttempt(finish, { type: 'RecordLookUp', ...seen }, FINISH_POLICY));
}

/** Then it is the announcement that is in doubt. */
function notThere({ attempt, finish, missed }: Uploading, seen: Seen & { uploading: string[] }): DocumentEvent[] {
  const { sinceAttemptEndedMs, answerSha256 } = seen;
  const other = ourOf(seen);
  const found = { answerSha256, foundByLookUp: true };
  // Another one under its request_id, of an earlier attempt that landed late: nothing is announced again while that is
  // there.
  if (other !== undefined && !seen.uploading.includes(other))
    return [{ type: 'DocumentSent', data: { attempt, documentId: other, ...found } }];
  const lookUps = finish.lookUps + 1;
  const facts = { attempt, sinceAttemptEndedMs, answerSha256 };
  if (!proves(TWO_PAST_GRACE, missed + 1, seen)) return [{ type: 'LookUpMissed', data: { ...facts, lookUp: lookUps } }];
  const absent: DocumentEvent = { type: 'SendAbsenceProven', data: { ...facts, lookUps } };
  // Its bytes go where the registry still waits for them. That takes the place of the attempt that was to come, and has
  // numbers of its own.
  return other === undefined
    ? [absent]
    : [absent, { type: 'UploadOpened', data: { attempt: attempt + 1, documentId: other, ...found } }];
}
