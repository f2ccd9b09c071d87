import type { GroupState, Member, StartAnswer } from '#domain';
import { backoffMs, neverReached, type Sha256 } from '#kernel';
import type { CallOutcome, DocumentMetadata } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { judgeRefusal } from '../account/judge-refusal.js';
import { begunBefore } from '../restoration/begun-before.js';
import {
  ageMs,
  candidateOf,
  groupByRegistry,
  groupBySystem,
  groupPayloadOf,
  keep,
  waitForAccount,
  type TaskContext,
} from './context.js';
import { WRITE_WITHIN_MS } from './patience.js';

/** How long a call of no consequence rests before it is made again. */
const RETRY_MS = 2_000;
/** How long a start that was surely not delivered rests: doubled with each attempt, to a minute. */
const START_AGAIN = { firstMs: 500, mostMs: 60_000 };

const idsOf = (state: Exclude<GroupState, { phase: 'absent' }>): string[] => state.members.map((one) => one.requestId);

/** Asks whether the group can be started, now that the registry has all its members (interface 4.1). */
export async function checkGroup(context: TaskContext, task: Task): Promise<TaskResult> {
  const { groupId, account } = groupPayloadOf(task);
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'checking') return { kind: 'done' };
  if (await context.gates.isPaused(account)) return waitForAccount();
  const begun = await begunBefore(context, task, { account, documentId: state.members[0]?.documentId });
  if (begun !== undefined) {
    if ('wait' in begun) return begun.wait;
    // It works on them already, so it could begin; the start finds that out for itself.
    await groupByRegistry(context, task, {
      type: 'RecordCheck',
      answer: { canStart: true },
      answerSha256: begun.answer.sha256,
      candidates: [begun.answer],
    });
    return { kind: 'done' };
  }
  const outcome = await context.bulk.check(account, idsOf(state));
  if ((await judgeRefusal(context, task, { account, operation: 'group_check', outcome })) !== undefined)
    return waitForAccount();
  switch (outcome.kind) {
    case 'ok': {
      const answer = outcome.value.canStart
        ? { canStart: true as const }
        : { canStart: false as const, reason: outcome.value.reason };
      await groupByRegistry(context, task, {
        type: 'RecordCheck',
        answer,
        answerSha256: await keep(context, outcome.raw),
      });
      return { kind: 'done' };
    }
    case 'refused':
    case 'not_found':
      await groupByRegistry(context, task, {
        type: 'RecordCheck',
        answer: { canStart: false, reason: outcome.text },
        answerSha256: await keep(context, outcome.raw),
      });
      return { kind: 'done' };
    case 'rate_limited':
    case 'not_sent':
    case 'unknown':
      return {
        kind: 'retry',
        delayMs: RETRY_MS,
        error: `check of group ${groupId}: ${outcome.kind}`,
        countsAsAttempt: false,
      };
    default:
      return neverReached(outcome, 'call outcome');
  }
}

/**
 * Starts the group once. The order of durable steps is that of a send: the intent as an event, then the call, then its
 * answer. A crash after the intent leaves the phase `starting`; whoever takes the task next records an unknown outcome,
 * and the members' statuses decide.
 */
export async function startGroup(context: TaskContext, task: Task): Promise<TaskResult> {
  const { groupId, account, attempt = 1 } = groupPayloadOf(task);
  const state = await context.groups.stateInLog(groupId);
  if (state.phase === 'starting' && state.attempt === attempt) return giveUpEarlierRun(context, task, attempt);
  if (state.phase !== 'startable' || state.attempts + 1 !== attempt) return { kind: 'done' };
  if (await context.gates.isPaused(account)) return waitForAccount();
  // The check has rested since the members were sent.
  const before = await begunBefore(context, task, { account, documentId: state.members[0]?.documentId, isOld: true });
  if (before !== undefined && 'wait' in before) return before.wait;
  const prepared = await context.registry.prepare(account);
  if (prepared.kind === 'not_ready')
    return { kind: 'retry', delayMs: RETRY_MS, error: prepared.reason, countsAsAttempt: false };
  const notAfterMonotonicMs = context.clock.monotonicMs() + WRITE_WITHIN_MS;
  const begun = await groupBySystem(context, task, { type: 'BeginStart' });
  if (begun.events.length === 0)
    return begun.state.phase === 'starting' && begun.state.attempt === attempt
      ? giveUpEarlierRun(context, task, attempt)
      : { kind: 'done' };
  if (before !== undefined) return giveUpEarlierRun(context, task, attempt);
  const outcome = await context.bulk.start(account, idsOf(state), { notAfterMonotonicMs });
  const fault = await judgeRefusal(context, task, { account, operation: 'group_start', outcome });
  const answer =
    fault === undefined ? await answerOf(context, outcome, attempt) : refusedAccount(fault, state.doubts, attempt);
  await groupByRegistry(context, task, { type: 'RecordStartAnswer', attempt, answer });
  return { kind: 'done' };
}

async function giveUpEarlierRun(context: TaskContext, task: Task, attempt: number): Promise<TaskResult> {
  const answer: StartAnswer = {
    kind: 'unconfirmed',
    reason: 'the process that started it ended before the answer was recorded',
  };
  await groupBySystem(context, task, { type: 'RecordStartAnswer', attempt, answer });
  return { kind: 'done' };
}

/**
 * Surely not begun by this attempt; where an earlier one had no known outcome, that one may have begun it, and is
 * looked at.
 */
const refusedAccount = (
  { text, answerSha256 }: { text: string; answerSha256: Sha256 },
  doubts: number | undefined,
  attempt: number,
): StartAnswer =>
  doubts === undefined
    ? { kind: 'not_delivered', reason: text, retryAfterMs: backoffMs(attempt, START_AGAIN), answerSha256 }
    : { kind: 'unconfirmed', reason: `refused after a start of unknown outcome: ${text}`, answerSha256 };

async function answerOf(context: TaskContext, outcome: CallOutcome<null>, attempt: number): Promise<StartAnswer> {
  const retryAfterMs = backoffMs(attempt, START_AGAIN);
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'started', answerSha256: await keep(context, outcome.raw) };
    case 'refused':
      return {
        kind: 'refused',
        code: outcome.code,
        text: outcome.text,
        answerSha256: await keep(context, outcome.raw),
      };
    case 'not_found':
      return { kind: 'refused', code: 'not_found', text: outcome.text, answerSha256: await keep(context, outcome.raw) };
    case 'rate_limited':
      return {
        kind: 'not_delivered',
        reason: outcome.text,
        retryAfterMs,
        answerSha256: await keep(context, outcome.raw),
      };
    case 'not_sent':
      return { kind: 'not_delivered', reason: outcome.reason, retryAfterMs };
    case 'unknown':
      return {
        kind: 'unconfirmed',
        reason: outcome.reason,
        ...(outcome.raw === undefined ? {} : { answerSha256: await keep(context, outcome.raw) }),
      };
    default:
      return neverReached(outcome, 'call outcome');
  }
}

/**
 * After a start of unknown outcome: the first member's status tells. It is the first to be worked on, and lies there as
 * `uploading` until then (DESIGN section 6, unknown outcome).
 */
export async function lookAtGroup(context: TaskContext, task: Task): Promise<TaskResult> {
  const { groupId, account, attempt = 1, attemptEndedAt } = groupPayloadOf(task);
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'unconfirmed' || state.attempt !== attempt) return { kind: 'done' };
  const sinceAttemptEndedMs = ageMs(task, attemptEndedAt);
  const [first] = state.members as [Member, ...Member[]];
  const outcome: CallOutcome<DocumentMetadata> = await context.registry.documentStatus(account, first.documentId ?? '');
  if (outcome.kind !== 'ok')
    return {
      kind: 'retry',
      delayMs: RETRY_MS,
      error: `status of ${first.documentId}: ${outcome.kind}`,
      countsAsAttempt: false,
    };
  const begun = outcome.value.status !== 'uploading';
  const { unknownGraceMs } = context.profile.rules;
  const answer = candidateOf(context, outcome.raw);
  await groupByRegistry(context, task, {
    type: 'RecordLook',
    attempt,
    begun,
    sinceAttemptEndedMs,
    unknownGraceMs,
    answerSha256: answer.sha256,
    candidates: [answer],
  });
  return { kind: 'done' };
}
