import type { Attempt, CallAnswer } from '#domain';
import { defined, neverReached, type Sha256 } from '#kernel';
import { outcomeWords, type CallOutcome, type JudgedOperation, type RawAnswer } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { judgeRefusal } from '../account/judge-refusal.js';
import type { Candidate } from '../aggregate/candidate.js';
import { ageMs, candidateOf, lookTenthLater, waitForAccount, type TaskContext } from './context.js';
import { retryAfterMs, WRITE_WITHIN_MS } from './call-timing.js';

/** While nobody can sign in, no attempt is begun; the sessions have a back-off of their own. */
const NOT_READY_MS = 1_000;
/** How soon a document is looked up again, and at the latest where the answer told nothing. */
const LOOK_UP_AGAIN_MS = 2_000;
const DONE: TaskResult = { kind: 'done' };

/** What an answer says, and the bytes that an event about it may name: they are kept only then. */
export interface Heard<Answer> {
  answer: Answer;
  candidates: Candidate[];
}

/** `doubt`: the call may have been made, as was not known here; it is not made now. */
export type Checked<Ready> = { ready: Ready } | { wait: TaskResult } | { doubt: true };

/** A call that must not be made twice (libs/domain/src/attempt). `Ready` is what it is made with. */
export interface UncertainCall<State, Ready, Answer> {
  account: string;
  attempt: number;
  /** Until when the lease under which this runs surely holds, by the monotonic clock. */
  heldUntilMs(): number;
  /** What a process did that made the call and ended before the answer was recorded. */
  did: string;
  attemptIn(state: State): Attempt | undefined;
  /** Looks at the world first. */
  check(): Promise<Checked<Ready>>;
  /** Signs, where the call is signed, and judges once more: last of all, for each signature is new evidence. */
  sign?(ready: Ready): Promise<{ ready: Ready } | { wait: TaskResult }>;
  /** Records the intent. */
  begin(ready?: Ready): Promise<{ events: unknown[]; state: State }>;
  call(ready: Ready, notAfterMonotonicMs: number): Promise<Heard<Answer | CallAnswer>>;
  /** Without `candidates` it is this system's word, not the registry's. */
  record(answer: Answer | CallAnswer, candidates?: Candidate[]): Promise<unknown>;
}

/**
 * Makes a call once. The order of durable steps is the promise (principles 2.2): token and signature, then the intent
 * as an event, then the call, then its answer as an event. A crash after the intent leaves the step `calling`; whoever
 * takes the task next records an unknown outcome, and look-ups decide.
 */
export async function callOnce<State, Ready, Answer>(
  context: TaskContext,
  state: State,
  call: UncertainCall<State, Ready, Answer>,
): Promise<TaskResult> {
  const { account } = call;
  const now = stepIn(call, state);
  if (now === 'calling') return giveUpEarlierRun(call);
  if (now !== 'open') return DONE;
  if (await context.gates.isPaused(account)) return waitForAccount();
  const checked = await call.check();
  if ('wait' in checked) return checked.wait;
  if ('doubt' in checked) {
    const intent = await call.begin();
    return intent.events.length === 0 ? begunByAnother(call, intent.state) : giveUpEarlierRun(call);
  }
  const prepared = await prepare(context, call, checked.ready);
  if ('wait' in prepared) return prepared.wait;
  const { ready, notAfterMonotonicMs } = prepared;
  const begun = await call.begin(ready);
  if (begun.events.length === 0) return begunByAnother(call, begun.state);
  const { answer, candidates } = await call.call(ready, notAfterMonotonicMs);
  await call.record(answer, candidates);
  return DONE;
}

/** Token and signature, and until when the call may be written. */
async function prepare<Ready>(
  context: TaskContext,
  call: Pick<UncertainCall<never, Ready, never>, 'account' | 'heldUntilMs' | 'sign'>,
  checked: Ready,
): Promise<{ ready: Ready; notAfterMonotonicMs: number } | { wait: TaskResult }> {
  const token = await context.registry.prepare(call.account);
  if (token.kind === 'not_ready')
    return { wait: { kind: 'retry', delayMs: NOT_READY_MS, error: token.reason, countsAsAttempt: false } };
  const signed = (await call.sign?.(checked)) ?? { ready: checked };
  if ('wait' in signed) return signed;
  const nowMs = context.clock.monotonicMs();
  const notAfterMonotonicMs = Math.min(nowMs + WRITE_WITHIN_MS, call.heldUntilMs());
  // Whoever has the task by now must find no intent that is younger than its own lease (decision 122).
  return notAfterMonotonicMs <= nowMs ? { wait: { kind: 'give_back' } } : { ...signed, notAfterMonotonicMs };
}

function stepIn<State>(
  { attempt, attemptIn }: Pick<UncertainCall<State, never, never>, 'attempt' | 'attemptIn'>,
  state: State,
): Attempt['step'] | undefined {
  const now = attemptIn(state);
  return now?.attempt === attempt ? now.step : undefined;
}

/**
 * Another run has recorded the intent since this one looked. It may be making the call now: then the lease of this one
 * is lost, and nothing is said in the other's name. With a lease that holds, the task comes again, and finds the intent
 * at its start.
 */
const begunByAnother = <State>(
  call: Pick<UncertainCall<State, never, never>, 'attempt' | 'attemptIn'>,
  state: State,
): TaskResult => (stepIn(call, state) === 'calling' ? { kind: 'give_back' } : DONE);

/** An earlier run of this task recorded the intent, and nobody knows whether it made the call. */
async function giveUpEarlierRun(call: {
  did: string;
  record(answer: CallAnswer): Promise<unknown>;
}): Promise<TaskResult> {
  await call.record({
    kind: 'unconfirmed',
    reason: `the process that ${call.did} ended before the answer was recorded`,
  });
  return DONE;
}

/** What the registry's answer to a call means. */
export async function hear<Value, Done>(
  context: TaskContext,
  task: Task,
  of: {
    account: string;
    attempt: number;
    operation: JudgedOperation;
    outcome: CallOutcome<Value>;
    /** What a server before the registry may have said would be the last word now. */
    believesOthers: boolean;
    /** The document that was sent. */
    requestId?: string;
    /** The good news in the aggregate's words. */
    done: (value: Value, answer: Candidate) => Promise<Heard<Done>> | Heard<Done>;
  },
): Promise<Heard<Done | CallAnswer>> {
  const { outcome, attempt, done, ...call } = of;
  const fault = await judgeRefusal(context, task, { ...call, outcome });
  if (fault !== undefined)
    return {
      answer: { kind: 'account_refused', ...fault, retryAfterMs: retryAfterMs(attempt) },
      candidates: [],
    };
  return outcome.kind === 'ok'
    ? done(outcome.value, candidateOf(context, outcome.raw))
    : answerOf(context, outcome, attempt);
}

/** An outcome that is not `ok`, as an answer. */
export function answerOf(
  context: TaskContext,
  outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }>,
  attempt: number,
): Heard<CallAnswer> {
  const naming = (raw: RawAnswer, answer: (answerSha256: Sha256) => CallAnswer): Heard<CallAnswer> => {
    const bytes = candidateOf(context, raw);
    return { answer: answer(bytes.sha256), candidates: [bytes] };
  };
  const rest = { retryAfterMs: retryAfterMs(attempt) };
  switch (outcome.kind) {
    case 'refused': {
      const { kind, code, text, mayBeOthers } = outcome;
      return naming(outcome.raw, (answerSha256) => ({ kind, code, text, answerSha256, ...defined({ mayBeOthers }) }));
    }
    case 'not_found': {
      const { kind: code, text } = outcome;
      return naming(outcome.raw, (answerSha256) => ({ kind: 'refused', code, text, answerSha256 }));
    }
    case 'rate_limited': {
      const { text: reason } = outcome;
      return naming(outcome.raw, (answerSha256) => ({ kind: 'not_delivered', reason, ...rest, answerSha256 }));
    }
    case 'not_sent':
      return { answer: { kind: 'not_delivered', reason: outcome.reason, ...rest }, candidates: [] };
    case 'unknown': {
      const { reason, raw } = outcome;
      return raw === undefined
        ? { answer: { kind: 'unconfirmed', reason }, candidates: [] }
        : naming(raw, (answerSha256) => ({ kind: 'unconfirmed', reason, answerSha256 }));
    }
    default:
      return neverReached(outcome, 'call outcome');
  }
}

/** What a look-up after an attempt of unknown outcome is recorded with (principles 6.8). */
export function lookUpFacts(
  context: TaskContext,
  task: Task,
  of: { raw: RawAnswer; attemptEndedAt: string | undefined },
) {
  const answer = candidateOf(context, of.raw);
  return {
    sinceAttemptEndedMs: ageMs(task, of.attemptEndedAt),
    unknownGraceMs: context.profile.rules.unknownGraceMs,
    answerSha256: answer.sha256,
    candidates: [answer] as [Candidate],
  };
}

/** A look-up that gave no answer. It is never given up: nothing else tells whether the document has arrived. */
export function lookUpAgain(
  task: Task<{ attemptEndedAt?: string }>,
  what: string,
  outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }>,
): TaskResult {
  const error = `${what}: ${outcomeWords(outcome)}`;
  return outcome.kind === 'refused' || outcome.kind === 'not_found'
    ? lookUpLater(task, error)
    : { kind: 'retry', delayMs: LOOK_UP_AGAIN_MS, error, countsAsAttempt: false };
}

/** An answer that tells nothing, and may not tell more soon: it is asked for less and less often. */
export function lookUpLater(task: Task<{ attemptEndedAt?: string }>, error: string): TaskResult {
  return lookTenthLater(task, { since: task.payload.attemptEndedAt, firstMs: LOOK_UP_AGAIN_MS, error });
}
