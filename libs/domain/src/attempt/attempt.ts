import { neverReached, type Sha256 } from '#kernel';
import type { AccountCause } from '../account/events.js';

/**
 * A call to the registry that must not be made twice, and whose outcome may stay unknown: sending a document, finishing
 * an upload, starting a group. Its life is the same for all: the intent, then an answer, or a doubt that look-ups
 * resolve. Each keeps its own event types, which a codec translates (document/send-attempt.ts, document/upload.ts,
 * group/start.ts).
 */
export interface Attempt {
  /** `open`: the call may be made. `calling`: its intent is recorded. `doubtful`: it has to be looked up first. */
  step: 'open' | 'calling' | 'doubtful';
  /** The number of the call, from 1. While the step is `open`, of the call to come. */
  attempt: number;
  /** Since it became doubtful. */
  lookUps: number;
  /** A refusal that was not believed is what is doubtful now. */
  wasRefused: boolean;
  /** Calls before this one whose outcome was unknown, and that were proven undone. */
  doubts: number;
  /** Refusals so far that were not believed. */
  refusals: number;
}

export const FIRST_ATTEMPT: Attempt = {
  step: 'open',
  attempt: 1,
  lookUps: 0,
  wasRefused: false,
  doubts: 0,
  refusals: 0,
};

/** The registry said no to what was asked. */
export interface CallRefused {
  kind: 'refused';
  code: string;
  text: string;
  /** Not in the registry's words: a server before it may have said that. */
  mayBeOthers?: true;
  answerSha256: Sha256;
}

/** The registry said no to the account: signature, certificate, rights. It says nothing of what was asked. */
interface AccountRefused {
  kind: 'account_refused';
  cause: AccountCause;
  code: string;
  text: string;
  retryAfterMs: number;
  answerSha256: Sha256;
}

export type Refusal = CallRefused | AccountRefused;

/** What the world said to a call that is not known to be done. */
export type CallAnswer =
  | Refusal
  | { kind: 'not_delivered'; reason: string; retryAfterMs: number; answerSha256?: Sha256 }
  | { kind: 'unconfirmed'; reason: string; answerSha256?: Sha256 };

/** Whether a server before the registry may have refused, and not the registry. */
export const mayBeOthers = (refusal: Refusal): boolean => refusal.kind === 'refused' && refusal.mayBeOthers === true;

export const wordsOf = ({ code, text }: Pick<Refusal, 'code' | 'text'>): string => (text === '' ? code : text);

interface OfAttempt {
  attempt: number;
}
interface Answered extends OfAttempt {
  answerSha256: Sha256;
}
interface Unanswered extends OfAttempt {
  reason: string;
  answerSha256?: Sha256;
}
interface LookedUp extends Answered {
  sinceAttemptEndedMs: number;
}

/** What the log keeps of each fact; the event types of documents and groups add what is theirs. */
export interface FactData {
  begun: OfAttempt;
  not_delivered: Unanswered & { retryAfterMs: number };
  unconfirmed: Unanswered;
  missed: LookedUp & { lookUp: number };
  proven_undone: LookedUp & { lookUps: number };
  done: Answered & { foundByLookUp: boolean };
  refused: Answered & { code: string; text: string };
}

/** What happened to an attempt that goes on; done, and a refusal that is believed, end it. */
type LiveFact =
  | { type: 'begun'; data: FactData['begun'] }
  /** `accountCause`: set where the registry refused the account. */
  | { type: 'not_delivered'; data: FactData['not_delivered'] & { accountCause?: AccountCause } }
  | { type: 'unconfirmed'; data: FactData['unconfirmed'] }
  /** A refusal that is looked up, and not believed. */
  | { type: 'doubted'; data: OfAttempt & { refusal: Refusal } }
  | { type: 'missed'; data: FactData['missed'] }
  | { type: 'proven_undone'; data: FactData['proven_undone'] };
export type AttemptFact =
  LiveFact | { type: 'done'; data: FactData['done'] } | { type: 'refused'; data: FactData['refused'] };

/** The part of a fact that decides the next step. `lookUp`: its number, of a look-up that missed. */
export interface Step {
  type: LiveFact['type'];
  data: { attempt: number; lookUp?: number; mayBeOthers?: true };
}

/** The attempt after one more fact. */
export function evolveAttempt(state: Attempt, { type, data }: Step): Attempt {
  const { attempt } = data;
  const anew = { ...state, attempt, lookUps: 0, wasRefused: false };
  switch (type) {
    case 'begun':
      return { ...anew, step: 'calling' };
    case 'not_delivered':
      return { ...anew, step: 'open', attempt: attempt + 1 };
    case 'unconfirmed':
      return { ...anew, step: 'doubtful' };
    case 'doubted':
      return { ...anew, step: 'doubtful', wasRefused: data.mayBeOthers !== true, refusals: state.refusals + 1 };
    case 'missed':
      return { ...state, step: 'doubtful', attempt, lookUps: data.lookUp ?? state.lookUps + 1 };
    case 'proven_undone':
      return { ...anew, step: 'open', attempt: attempt + 1, doubts: state.doubts + 1 };
    default:
      return neverReached(type, 'fact of an attempt');
  }
}
