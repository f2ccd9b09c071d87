import {
  believesOthers,
  START_POLICY,
  type GroupState,
  type Member,
  type RegisteredGroup,
  type StartAnswer,
} from '#domain';
import { defined } from '#kernel';
import { outcomeWords, type RawAnswer } from '#registry-client';
import type { HandlerContext, TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { judgeRefusal } from '../account/judge-refusal.js';
import type { Candidate } from '../aggregate/candidate.js';
import { begunBefore } from '../restoration/begun-before.js';
import { callOnce, hear, lookUpAgain, lookUpFacts, lookUpLater, type Checked } from './attempt.js';
import { isAnyNotProcessed } from './group-ended.js';
import { REFUSED_TRIES, refusedRead } from './refused-read.js';
import { candidateOf, groupByRegistry, groupBySystem, waitForAccount, type TaskContext } from './context.js';
import { suspendedIn } from './suspension-stop.js';

/** How long a check rests before it is made again. */
const CHECK_AGAIN_MS = 2_000;

const idsOf = ({ members }: { members: Member[] }): string[] => members.map((one) => one.requestId);

/** What the registry said to a check: yes, or no and why. A check changes nothing: without a word it is made again. */
type CheckSaid = { bytes: Candidate; denial?: string } | { wait: TaskResult };

/** A refusal of the account is about its first member, as far as it is about one document. */
const standsForAll = ({ members: [first] }: RegisteredGroup): { requestId?: string } =>
  defined({ requestId: first?.requestId });

/** Asks whether the group can be started, now that the registry has all its members (registry-interface 4.1). */
export async function checkGroup(context: TaskContext, task: TaskOf<'group_check'>): Promise<TaskResult> {
  const { groupId, account } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'checking') return { kind: 'done' };
  if (await context.gates.isPaused(account)) return waitForAccount();
  const begun = await begunBefore(context, task, { account, documentId: state.members[0]?.documentId });
  if (begun !== undefined && 'wait' in begun) return begun.wait;
  // Its first member has ended, so it could begin; the start finds that out for itself.
  if (begun !== undefined && begun.status !== 'processing') return recordCheck(context, task, { bytes: begun.answer });
  const said = await askCheck(context, task, state);
  if ('wait' in said) return said.wait;
  // It may say no because it works on them already: the start finds that out, too.
  const mayBeInWork = begun !== undefined && said.denial !== undefined;
  return recordCheck(context, task, mayBeInWork ? { bytes: begun.answer } : said);
}

async function askCheck(
  context: TaskContext,
  task: TaskOf<'group_check'> | TaskOf<'group_start'>,
  state: RegisteredGroup,
): Promise<CheckSaid> {
  const { groupId, account } = task.payload;
  const outcome = await context.bulk.check(account, idsOf(state));
  const fault = await judgeRefusal(context, task, {
    account,
    operation: 'group_check',
    outcome,
    believesOthers: task.attempts >= REFUSED_TRIES,
    ...standsForAll(state),
  });
  if (fault !== undefined) return { wait: waitForAccount() };
  if (outcome.kind === 'ok') {
    const { value, raw } = outcome;
    return { bytes: candidateOf(context, raw), ...(value.canStart ? {} : { denial: value.reason }) };
  }
  const error = `check of group ${groupId}: ${outcomeWords(outcome)}`;
  // A server before the registry may have refused it.
  if (outcome.kind === 'refused' && outcome.mayBeOthers === true) return { wait: refusedRead(context, task, error) };
  if (outcome.kind === 'refused' || outcome.kind === 'not_found')
    return { bytes: candidateOf(context, outcome.raw), denial: outcome.text };
  return { wait: { kind: 'retry', delayMs: CHECK_AGAIN_MS, error, countsAsAttempt: false } };
}

async function recordCheck(
  context: TaskContext,
  task: TaskOf<'group_check'>,
  { bytes, denial }: { bytes: Candidate; denial?: string },
): Promise<TaskResult> {
  const answer = denial === undefined ? ({ canStart: true } as const) : ({ canStart: false, reason: denial } as const);
  await groupByRegistry(context, task, {
    type: 'RecordCheck',
    answer,
    answerSha256: bytes.sha256,
    candidates: [bytes],
  });
  return { kind: 'done' };
}

/** Starts the group once (attempt.ts); the members' statuses decide about a start of unknown outcome. */
export async function startGroup(
  context: TaskContext,
  task: TaskOf<'group_start'>,
  by: HandlerContext,
): Promise<TaskResult> {
  const { groupId, account, attempt } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  // An attempt that is open while the group is still being checked is not to be made yet.
  if (state.phase !== 'startable' && state.phase !== 'starting') return { kind: 'done' };
  return callOnce<GroupState, Member[], StartAnswer>(context, state, {
    account,
    attempt,
    heldUntilMs: by.heldUntilMs,
    did: 'started it',
    attemptIn: (now) => ('start' in now ? now.start : undefined),
    check: () => notBegun(context, task, state),
    sign: (ready) => notSuspended(context, task, ready),
    begin: () => groupBySystem(context, task, { type: 'BeginStart' }),
    call: async (_, notAfterMonotonicMs) =>
      hear(context, task, {
        account,
        attempt,
        operation: 'group_start',
        believesOthers: believesOthers(START_POLICY, state.start),
        ...standsForAll(state),
        outcome: await context.bulk.start(account, idsOf(state), { notAfterMonotonicMs }),
        done: (_value, bytes) => ({
          answer: { kind: 'started' as const, answerSha256: bytes.sha256 },
          candidates: [bytes],
        }),
      }),
    record: async (answer, candidates) => {
      const said = { type: 'RecordStartAnswer', attempt, answer } as const;
      if (candidates === undefined) return groupBySystem(context, task, said);
      if (await isEnded(context, groupId)) return undefined;
      return groupByRegistry(context, task, { ...said, candidates });
    },
  });
}

/** A person has ended the group meanwhile, and some of its members were ended so: each is followed by itself. */
async function isEnded(context: TaskContext, groupId: string): Promise<boolean> {
  const state = await context.groups.stateInLog(groupId);
  return state.phase === 'halted' && isAnyNotProcessed(context, state.members);
}

async function notBegun(
  context: TaskContext,
  task: TaskOf<'group_start'>,
  state: RegisteredGroup,
): Promise<Checked<Member[]>> {
  const { account } = task.payload;
  const { members } = state;
  // The check has rested since the members were sent.
  const before = await begunBefore(context, task, { account, documentId: members[0]?.documentId, isOld: true });
  if (before === undefined) return { ready: members };
  if ('wait' in before) return before;
  if (before.status !== 'processing') return { doubt: true };
  const said = await askCheck(context, task, state);
  if ('wait' in said) return said;
  return said.denial === undefined ? { ready: members } : { doubt: true };
}

/**
 * What was suspended since its members were sent stops the whole: the registry has its documents, so what is not
 * started is all that can be kept from it. A resumption sends them anew, and each is held or released by itself. Only
 * the append of the intent comes after the last look at the log.
 */
async function notSuspended(
  context: TaskContext,
  task: TaskOf<'group_start'>,
  ready: Member[],
): Promise<{ ready: Member[] } | { wait: TaskResult }> {
  const suspended = await suspendedIn(context, ready);
  if (suspended === undefined) return { ready };
  if ('wait' in suspended) return suspended;
  await groupBySystem(context, task, { type: 'StopStart', ...suspended });
  return { wait: { kind: 'done' } };
}

/**
 * After a start of unknown outcome: the first member's status tells, for it is the first to be worked on (principles
 * 6.8). The interface does not say what it shows until then. Where that may be `processing`, a check that says yes
 * tells that nothing has begun. A no may have other reasons than a group in work, so it tells nothing: the group stays
 * unconfirmed, which an alert tells, until the status moves on or a check says yes. What the registry does not know has
 * not begun either: the next check has the last word on that.
 */
export async function lookAtGroup(context: TaskContext, task: TaskOf<'group_look'>): Promise<TaskResult> {
  const { groupId, account, attempt } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'unconfirmed' || state.start.attempt !== attempt) return { kind: 'done' };
  const { documentId = '' } = state.members[0] as Member;
  const outcome = await context.registry.documentStatus(account, documentId);
  if (outcome.kind !== 'ok' && outcome.kind !== 'not_found')
    return lookUpAgain(task, `status of ${documentId}`, outcome);
  const status = outcome.kind === 'ok' ? outcome.value.status : 'uploading';
  if (status !== 'processing') return recordLook(context, task, { begun: status !== 'uploading', raw: outcome.raw });
  const check = await context.bulk.check(account, idsOf(state));
  if (check.kind !== 'ok') return lookUpAgain(task, `check of group ${groupId}`, check);
  if (!check.value.canStart) return lookUpLater(task, `check of group ${groupId}: ${check.value.reason}`);
  return recordLook(context, task, { begun: false, raw: check.raw });
}

async function recordLook(
  context: TaskContext,
  task: TaskOf<'group_look'>,
  { begun, raw }: { begun: boolean; raw: RawAnswer },
): Promise<TaskResult> {
  const { attempt, attemptEndedAt } = task.payload;
  const facts = lookUpFacts(context, task, { raw, attemptEndedAt });
  await groupByRegistry(context, task, { type: 'RecordLook', attempt, begun, ...facts });
  return { kind: 'done' };
}
