import { neverReached, type Sha256 } from '#kernel';
import { wordsOf, type Attempt, type AttemptFact, type CallAnswer, type CallRefused, type Refusal } from './attempt.js';

/** So many look-ups prove that a call did nothing; where `isPastGrace`, the last of them after the grace. */
interface Proof {
  lookUps: number;
  isPastGrace: boolean;
}

/** A look-up is believed only from the second on, and only past the grace (principles 6.8). */
export const TWO_PAST_GRACE: Proof = { lookUps: 2, isPastGrace: true };

/** What differs between the three kinds of attempt. */
export interface AttemptPolicy {
  /** Whether a refusal is the last word. If not, it is looked up: an earlier call may have landed since. */
  believes(refusal: Refusal, past: Pick<Attempt, 'doubts' | 'refusals'>): boolean;
  /** What proves a call undone that was left without an answer. */
  proof: Proof;
  /** What proves a call undone whose refusal was not believed. */
  proofAfterRefusal: Proof;
}

const BY_OTHERS: CallRefused = { kind: 'refused', code: '', text: '', mayBeOthers: true, answerSha256: '' };

/** Whether a refusal by a server before the registry would be the last word. */
export const believesOthers = ({ believes }: AttemptPolicy, past: Pick<Attempt, 'doubts' | 'refusals'>): boolean =>
  believes(BY_OTHERS, past);

/** What a look-up says about time, and the bytes of its answer. */
export interface LookUpFacts {
  sinceAttemptEndedMs: number;
  unknownGraceMs: number;
  answerSha256: Sha256;
}

export type AttemptCommand =
  | { type: 'Begin' }
  | { type: 'RecordAnswer'; attempt: number; answer: CallAnswer | { kind: 'done'; answerSha256: Sha256 } }
  /** A step that leads to the call was refused, before the call. */
  | { type: 'RefuseAhead'; refusal: CallRefused }
  | ({ type: 'RecordLookUp'; attempt: number; isDone: boolean } & LookUpFacts);

/** The fact that follows from a command; undefined when the command says nothing new. */
export function decideAttempt(state: Attempt, command: AttemptCommand, policy: AttemptPolicy): AttemptFact | undefined {
  switch (command.type) {
    case 'Begin':
      return state.step === 'open' ? { type: 'begun', data: { attempt: state.attempt } } : undefined;
    case 'RecordAnswer':
      return recordAnswer(state, command, policy);
    case 'RefuseAhead':
      return state.step === 'open' ? refusedBy(state, command.refusal, policy) : undefined;
    case 'RecordLookUp':
      return state.step === 'doubtful' && state.attempt === command.attempt
        ? lookedUp(state, command, policy)
        : undefined;
    default:
      return neverReached(command, 'command to an attempt');
  }
}

function recordAnswer(
  state: Attempt,
  { attempt, answer }: Extract<AttemptCommand, { type: 'RecordAnswer' }>,
  policy: AttemptPolicy,
): AttemptFact | undefined {
  // Good news counts whenever it comes, also after somebody else took over and doubted.
  if (answer.kind === 'done') return done(attempt, answer, false);
  if (state.step !== 'calling' || state.attempt !== attempt) return undefined;
  switch (answer.kind) {
    case 'refused':
    case 'account_refused':
      return refusedBy(state, answer, policy);
    case 'not_delivered': {
      const { kind: type, ...rest } = answer;
      return { type, data: { attempt, ...rest } };
    }
    case 'unconfirmed': {
      const { kind: type, ...rest } = answer;
      return { type, data: { attempt, ...rest } };
    }
    default:
      return neverReached(answer, 'answer to a call');
  }
}

function refusedBy(state: Attempt, refusal: Refusal, policy: AttemptPolicy): AttemptFact {
  const { attempt } = state;
  if (!policy.believes(refusal, state)) return { type: 'doubted', data: { attempt, refusal } };
  const { code, text, answerSha256 } = refusal;
  if (refusal.kind === 'refused') return { type: 'refused', data: { attempt, code, text, answerSha256 } };
  const { retryAfterMs, cause: accountCause } = refusal;
  return {
    type: 'not_delivered',
    data: { attempt, reason: wordsOf(refusal), retryAfterMs, answerSha256, accountCause },
  };
}

const done = (attempt: number, { answerSha256 }: { answerSha256: Sha256 }, foundByLookUp: boolean): AttemptFact => ({
  type: 'done',
  data: { attempt, answerSha256, foundByLookUp },
});

function lookedUp(
  state: Attempt,
  { attempt, isDone, ...facts }: Extract<AttemptCommand, { type: 'RecordLookUp' }>,
  policy: AttemptPolicy,
): AttemptFact {
  if (isDone) return done(attempt, facts, true);
  const { sinceAttemptEndedMs, answerSha256 } = facts;
  const lookUps = state.lookUps + 1;
  const rest = { sinceAttemptEndedMs, answerSha256 };
  return proves(state.wasRefused ? policy.proofAfterRefusal : policy.proof, lookUps, facts)
    ? { type: 'proven_undone', data: { attempt, lookUps, ...rest } }
    : { type: 'missed', data: { attempt, lookUp: lookUps, ...rest } };
}

export const proves = (
  proof: Proof,
  lookUps: number,
  { sinceAttemptEndedMs, unknownGraceMs }: Omit<LookUpFacts, 'answerSha256'>,
): boolean => lookUps >= proof.lookUps && (!proof.isPastGrace || sinceAttemptEndedMs >= unknownGraceMs);

/** Whether the call of this number was begun; its answer may come late. */
export const hasBegun = ({ step, attempt }: Attempt, called: number): boolean =>
  step === 'open' ? called < attempt : called <= attempt;
