import { neverReached, type Sha256 } from '#kernel';
import { mayBeOthers, wordsOf, type Attempt, type AttemptFact, type CallAnswer } from '../attempt/attempt.js';
import { decideAttempt, TWO_PAST_GRACE, type AttemptPolicy, type LookUpFacts } from '../attempt/decide.js';
import type { GroupEvent } from './events.js';
import { begunAfterEnd, halted, started } from './halt.js';
import type { RegisteredGroup } from './state.js';

/** What the registry said when it was asked whether the group can be started. */
export interface CheckAnswer {
  answer: { canStart: true } | { canStart: false; reason: string };
  answerSha256: Sha256;
}

export type StartAnswer = { kind: 'started'; answerSha256: Sha256 } | CallAnswer;

/** A denial is believed only from this check on: some four minutes after the first (saga.ts). */
export const CHECKS_TO_BELIEVE_A_NO = 5;
/**
 * Starts that may have reached the registry; each but the first follows a proof that the one before has not begun the
 * group.
 */
const MAX_STARTS = 10;

/**
 * A start that is refused may come after one that landed late, or by a server before the registry: the members'
 * statuses have the last word.
 */
export const START_POLICY: AttemptPolicy = {
  believes: (refusal, { doubts }) =>
    (doubts === 0 && !mayBeOthers(refusal)) || (refusal.kind === 'refused' && doubts + 1 >= MAX_STARTS),
  proof: TWO_PAST_GRACE,
  proofAfterRefusal: TWO_PAST_GRACE,
};

type DoneFact = Extract<AttemptFact, { type: 'done' }>['data'];
type ToStart = Extract<RegisteredGroup, { start: Attempt }>;

/** How a fact about the start is written into the log. */
function startEvents(state: ToStart, fact: AttemptFact | undefined): GroupEvent[] {
  switch (fact?.type) {
    case undefined:
      return [];
    case 'begun':
      return [{ type: 'GroupStartAttempted', data: fact.data }];
    case 'done':
      return [startedBy(state, fact.data)];
    case 'refused':
      return [
        { type: 'GroupStartRefused', data: fact.data },
        halted(state, 'start_refused', { text: wordsOf(fact.data) }),
      ];
    case 'doubted':
      return doubted(fact.data);
    case 'not_delivered': {
      const { accountCause: _, ...data } = fact.data;
      return [{ type: 'GroupStartNotDelivered', data }];
    }
    case 'unconfirmed':
      return [{ type: 'GroupStartUnconfirmed', data: fact.data }];
    case 'missed':
      return [{ type: 'GroupStartNotSeen', data: fact.data }];
    case 'proven_undone':
      return [{ type: 'GroupStartAbsenceProven', data: fact.data }];
    default:
      return neverReached(fact, 'fact about a start');
  }
}

function doubted({ attempt, refusal }: Extract<AttemptFact, { type: 'doubted' }>['data']): GroupEvent[] {
  const { code, text, answerSha256 } = refusal;
  const reason = wordsOf(refusal);
  const unconfirmed = (why: string): GroupEvent => ({
    type: 'GroupStartUnconfirmed',
    data: { attempt, reason: why, answerSha256 },
  });
  return refusal.kind === 'account_refused'
    ? [unconfirmed(`refused after a start of unknown outcome: ${reason}`)]
    : [{ type: 'GroupStartRefused', data: { attempt, code, text, answerSha256 } }, unconfirmed(reason)];
}

const startedBy = (state: ToStart, { foundByLookUp: seenByStatus, ...rest }: DoneFact): GroupEvent =>
  started(state, { ...rest, seenByStatus });

const isToStart = (state: RegisteredGroup): state is ToStart => 'start' in state;

export function recordCheck(state: RegisteredGroup, { answer, answerSha256 }: CheckAnswer): GroupEvent[] {
  if (state.phase !== 'checking') return [];
  if (answer.canStart) return [{ type: 'GroupCheckPassed', data: { answerSha256 } }];
  const check = state.checks + 1;
  const { reason } = answer;
  const denied: GroupEvent = { type: 'GroupCheckDenied', data: { check, reason, answerSha256 } };
  if (check < CHECKS_TO_BELIEVE_A_NO) return [denied];
  // It counts as a refusal of the start to come: after a doubt it may mean that the group begins at this moment.
  const refusal = { kind: 'refused', code: '', text: reason, answerSha256 } as const;
  const fact = decideAttempt(state.start, { type: 'RefuseAhead', refusal }, START_POLICY);
  if (fact?.type === 'refused')
    return [denied, halted(state, state.start.doubts === 0 ? 'check_denied' : 'start_refused', { text: reason })];
  return [denied, { type: 'GroupStartUnconfirmed', data: { attempt: state.start.attempt, reason, answerSha256 } }];
}

export const beginStart = (state: ToStart): GroupEvent[] =>
  startEvents(state, decideAttempt(state.start, { type: 'Begin' }, START_POLICY));

/** Nobody knows for sure what became of a start before: the words claim nothing of it. */
export const stopStart = (state: ToStart, text: string): GroupEvent =>
  halted(state, 'packs_suspended', {
    text: state.start.doubts === 0 ? text : `${text}; nobody knows whether an earlier start of it took effect`,
  });

export function recordStartAnswer(
  state: RegisteredGroup,
  { attempt, answer }: { attempt: number; answer: StartAnswer },
): GroupEvent[] {
  // Good news counts whenever it comes, also after a person ended the group.
  if (!isToStart(state) && answer.kind === 'started')
    return begunAfterEnd(state, { attempt, seenByStatus: false, answerSha256: answer.answerSha256 });
  if (!isToStart(state)) return [];
  const said = answer.kind === 'started' ? ({ ...answer, kind: 'done' } as const) : answer;
  return startEvents(state, decideAttempt(state.start, { type: 'RecordAnswer', attempt, answer: said }, START_POLICY));
}

export function recordLook(
  state: RegisteredGroup,
  { begun, ...look }: { attempt: number; begun: boolean } & LookUpFacts,
): GroupEvent[] {
  if (!isToStart(state)) return [];
  return startEvents(state, decideAttempt(state.start, { ...look, type: 'RecordLookUp', isDone: begun }, START_POLICY));
}
