import {
  endedAnyway,
  mayBeProcessedYet,
  type DocumentNotProcessed,
  type GroupState,
  type Halt,
  type Member,
} from '#domain';
import { defined } from '#kernel';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim, TaskOf } from '../lane.js';
import { groupBySystem, memberCommand, type TaskContext } from './context.js';
import { followBegun, isProvenUntouched, lookAtEnded, type Looked } from './group-ended.js';
import { again, mayBeInWork, observe, seeSomeAlone, statusesOf, type Seen } from './member-looks.js';
import { lookAtEndedAnyway, settleEndedAnyway } from './looks-at-ended.js';

/** Tells a group that one of its members was sent, or how it ended. */
export async function noteMember(context: TaskContext, task: TaskOf<'note_member'>): Promise<TaskResult> {
  const { requestId, documentId, outcome, cause, version } = task.payload;
  if (outcome !== undefined) {
    const { partialStopsGroup: partialStops } = context.profile.rules;
    const { state } = await groupBySystem(context, task, {
      type: 'NoteMemberConcluded',
      requestId,
      outcome,
      ...defined({ cause, version }),
      partialStops,
    });
    if (endedAnyway(state).length > 0) await lookAtEndedAnyway(context, task);
  } else if (documentId !== undefined)
    await groupBySystem(context, task, { type: 'NoteMemberSent', requestId, documentId });
  return { kind: 'done' };
}

/**
 * Ends the members of a group that we have not started. What was sent is looked at first: after the restore of an older
 * backup the registry may have begun, or done, what our log does not know of, and says no to a check for that very
 * reason. Only what it shows untouched is ended.
 */
export async function concludeMembers(context: TaskContext, task: TaskOf<'conclude_members'>): Promise<TaskResult> {
  const { groupId, inWork = false } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  // It may have begun since and halted at a member, or a person may have decided more: each has a task of its own.
  const isOwn = 'halt' in state && state.halt?.started === false && (state.halt.cause === 'ended_in_work') === inWork;
  if (!isOwn) return { kind: 'done' };
  if (state.phase === 'halted') return concludeHalted(context, task, state);
  return mayBeProcessedYet(state) ? lookAtEnded(context, task, state.members) : { kind: 'done' };
}

type HaltedGroup = Extract<GroupState, { phase: 'halted' }>;

/** Those that the halt is to end, and that have not ended. */
const openOf = ({ members, halt }: HaltedGroup): Member[] =>
  members.filter((one) => halt.rest.includes(one.requestId) && one.outcome === undefined);

async function concludeHalted(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  state: HaltedGroup,
): Promise<TaskResult> {
  const { groupId, account, inWork = false } = task.payload;
  const { halt } = state;
  const open = openOf(state);
  const seen = await statusesOf(context, account, open);
  if (typeof seen === 'string') return again(context, task, seen);
  // They are processed in order: while nobody knows whether it has begun, the first that is open tells.
  await seeSomeAlone(context, account, { members: halt.cause === 'ended_by_person' ? open.slice(0, 1) : open, seen });
  const looked = { open, seen, all: state.members };
  const begun = halt.attempt === undefined ? undefined : await followBegun(context, task, looked);
  if (begun !== undefined) return begun;
  const areInWork = !inWork && (await mayBeInWork(context, account, { members: open, seen }));
  if (halt.cause === 'ended_by_person' && !isProvenUntouched(context, task, { open, seen, areInWork }))
    return again(context, task, 'nobody knows yet whether the registry has begun');
  return endOpen(context, task, { open, seen, areInWork, because: because(groupId, halt) });
}

/** Ends each of those that were looked at, but for what is in work. */
async function endOpen(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  { open, seen, areInWork, because: why }: Looked & { areInWork: boolean; because: DocumentNotProcessed['data'] },
): Promise<TaskResult> {
  const end = (member: Member): Promise<boolean> => {
    if (member.documentId === undefined)
      return concludeOne(context, task, { requestId: member.requestId, because: why });
    if (areInWork && seen.get(member.documentId)?.status === 'processing') return Promise.resolve(false);
    return settleOne(context, task, { member, seen, because: why });
  };
  const ended = await Promise.all(open.map(end));
  if (!ended.every(Boolean)) return again(context, task, 'a member is still being sent, or in work');
  return task.payload.inWork === true
    ? again(context, task, 'the registry may still process what it showed as in work')
    : { kind: 'done' };
}

/**
 * Ends the members after the one that stopped its group, once their status shows that the registry does not process
 * them (registry-interface 3.2). A member that was processed all the same is followed to its receipt, and a stopping
 * member that turns out otherwise is waited for.
 */
export async function settleGroup(context: TaskContext, task: TaskOf<'settle_group'>): Promise<TaskResult> {
  const { groupId, account } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'halted' || !state.halt.started) return settleEndedAnyway(context, task, state);
  const { halt, members } = state;
  const open = openOf(state);
  const stopper = members.find((one) => one.requestId === halt.member?.requestId);
  const looked = stopper === undefined ? open : [stopper, ...open];
  const seen = await statusesOf(context, account, looked);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeSomeAlone(context, account, { members: looked, seen });
  if (stopper?.cause === 'registry_failed' && !seen.has(stopper.documentId ?? ''))
    return again(context, task, `${stopper.requestId}, which stopped the group, is not in the list`);
  if (stopper !== undefined && (await hasTurned(context, task, { stopper, seen })))
    return again(context, task, `${stopper.requestId}, which stopped the group, has turned`);
  const ended = await Promise.all(
    open.map((member) => settleOne(context, task, { member, seen, because: because(groupId, halt), isBehind: true })),
  );
  return ended.every(Boolean) ? { kind: 'done' } : again(context, task, 'a member is not settled yet');
}

/** A bare FAILED may still turn: then the group may go on, and nothing behind it is to be ended. */
async function hasTurned(
  context: TaskContext,
  task: Claim,
  { stopper, seen }: { stopper: Member; seen: Seen },
): Promise<boolean> {
  const now = seen.get(stopper.documentId ?? '');
  if (now === undefined || stopper.cause !== 'registry_failed') return false;
  if (now.status === 'failed' || now.status === 'absent') return false;
  await observe(context, task, { member: stopper, seen });
  return true;
}

async function settleOne(
  context: TaskContext,
  task: Claim,
  of: {
    member: Member;
    seen: Seen;
    because: DocumentNotProcessed['data'];
    /** It comes after the member that stopped the group: what shows FAILED there was not processed either. */
    isBehind?: true;
  },
): Promise<boolean> {
  const { member, seen, because: why, isBehind = false } = of;
  const now = seen.get(member.documentId ?? '');
  if (now === undefined) return false;
  const { status, answer } = now;
  const { sha256: answerSha256 } = answer;
  if (status === 'uploading' || status === 'processing' || status === 'absent' || (isBehind && status === 'failed'))
    return concludeOne(context, task, {
      requestId: member.requestId,
      because: { ...why, answerSha256 },
      candidates: [answer],
    });
  await observe(context, task, { member, seen });
  return true;
}

async function concludeOne(
  context: TaskContext,
  task: Claim,
  of: { requestId: string; because: DocumentNotProcessed['data']; candidates?: Candidate[] },
): Promise<boolean> {
  const { requestId, because: why, candidates = [] } = of;
  const { state } = await memberCommand(context, task, {
    requestId,
    by: 'system',
    command: { type: 'ConcludeNotProcessed', because: why },
    candidates,
  });
  return !['ready', 'waiting', 'sending', 'uploading', 'unconfirmed'].includes(state.phase);
}

function because(groupId: string, { cause, member, predecessor }: Halt): DocumentNotProcessed['data'] {
  if (cause === 'ended_in_work') return { groupId, inWork: true };
  const failed = member ?? predecessor;
  return failed === undefined
    ? { groupId }
    : { groupId, failed: { commandId: failed.commandId, requestId: failed.requestId, outcome: failed.outcome } };
}
