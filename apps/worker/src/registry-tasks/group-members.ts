import { mayBeProcessedYet, type DocumentNotProcessed, type GroupState, type Halt, type Member } from '#domain';
import { defined } from '#kernel';
import type { Candidate } from '../aggregate/candidate.js';
import type { DocumentMetadata } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Claim, TaskOf } from '../lane.js';
import {
  ageMs,
  candidateOf,
  groupByRegistry,
  groupBySystem,
  lookTenthLater,
  memberCommand,
  type TaskContext,
} from './context.js';
import { oneOf, someOf } from './status.js';

/** How soon members that are not settled are looked at again: a member's send may still be open. */
const AGAIN_FIRST_MS = 2_000;

/** Tells a group that one of its members was sent, or how it ended. */
export async function noteMember(context: TaskContext, task: TaskOf<'note_member'>): Promise<TaskResult> {
  const { requestId, documentId, outcome, cause, version } = task.payload;
  if (outcome !== undefined) {
    const { partialStopsGroup: partialStops } = context.profile.rules;
    await groupBySystem(context, task, {
      type: 'NoteMemberConcluded',
      requestId,
      outcome,
      ...defined({ cause, version }),
      partialStops,
    });
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

async function concludeHalted(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  state: Extract<GroupState, { phase: 'halted' }>,
): Promise<TaskResult> {
  const { groupId, account, inWork = false } = task.payload;
  const { halt } = state;
  const open = state.members.filter((one) => halt.rest.includes(one.requestId) && one.outcome === undefined);
  const seen = await statusesOf(context, account, open);
  if (typeof seen === 'string') return again(context, task, seen);
  const isDoubted = halt.cause === 'ended_by_person' && looksIn(context).get(groupId) !== 'proven';
  await seeOneAlone(context, account, { members: isDoubted ? open.slice(0, 1) : open, seen });
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

interface Looked {
  open: Member[];
  seen: Seen;
}

/**
 * Where a person has ended a group of which nobody knew whether it runs, a member that has ended, by the registry, says
 * that it does: it goes on like any that was started. If something was ended meanwhile, each member is followed by
 * itself. A bare FAILED behind one that is open says nothing: those are processed in order.
 */
async function followBegun(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  { open, seen, all }: Looked & { all: Member[] },
): Promise<TaskResult | undefined> {
  const shown = open.filter((one) => hasEnded(seen, one));
  const telling = shown.find((one) => one === open[0] || seen.get(one.documentId ?? '')?.status !== 'failed');
  const answer = seen.get(telling?.documentId ?? '')?.answer;
  if (answer === undefined) return undefined;
  if (!(await isAnyNotProcessed(context, open))) {
    const begun = { type: 'RecordBegun', answerSha256: answer.sha256 } as const;
    const { events } = await groupByRegistry(context, task, { ...begun, candidates: [answer] });
    if (events.length > 0) return { kind: 'done' };
  }
  for (const member of shown) await observe(context, task, { member, seen });
  await lookAtEnded(context, task, all);
  return again(context, task, 'the registry has begun');
}

/** Whether any of these was ended with its halted group, by its own stream: the group hears of that a moment later. */
export async function isAnyNotProcessed(context: TaskContext, members: Member[]): Promise<boolean> {
  const states = await Promise.all(members.map(({ requestId }) => context.documents.stateInLog(requestId)));
  return states.some((one) => 'cause' in one && one.cause === 'not_processed');
}

const untouched = new WeakMap<TaskContext, Map<string, 'once' | 'proven'>>();

/** How far the looks at a group that a person ended prove that nothing of it has begun. A new process looks anew. */
function looksIn(context: TaskContext): Map<string, 'once' | 'proven'> {
  const looks = untouched.get(context) ?? new Map<string, 'once' | 'proven'>();
  untouched.set(context, looks);
  return looks;
}

/**
 * Two looks that show the first of them untouched, and none in work, the last past the grace: a start may land late
 * (principles 6.8). While one may be in work, those behind it wait for their turn.
 */
function isProvenUntouched(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  { open, seen, areInWork }: Looked & { areInWork: boolean },
): boolean {
  const { groupId, haltedAt } = task.payload;
  const looks = looksIn(context);
  if (areInWork) looks.delete(groupId);
  if (areInWork || looks.get(groupId) === 'proven') return !areInWork;
  if (!seen.has(open[0]?.documentId ?? '')) return false;
  const isProven = looks.has(groupId) && ageMs(task, haltedAt) >= context.profile.rules.unknownGraceMs;
  looks.set(groupId, isProven ? 'proven' : 'once');
  return isProven;
}

/**
 * What was ended when a person ended its group, and may still be processed, is looked at on, less and less often, until
 * it has ended there, or is not known any more: if it was processed after all, its end is revised.
 */
async function lookAtEnded(context: TaskContext, task: TaskOf<'conclude_members'>, all: Member[]): Promise<TaskResult> {
  const { account } = task.payload;
  const members = all.filter(({ cause, documentId }) => cause === 'not_processed' && documentId !== undefined);
  const seen = await statusesOf(context, account, members);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeOneAlone(context, account, { members, seen });
  for (const member of members.filter((one) => hasEnded(seen, one))) await observe(context, task, { member, seen });
  const isOver = (one: Member): boolean =>
    hasEnded(seen, one) || missingSince(context).get(one.documentId ?? '')?.isProven === true;
  return members.every(isOver) ? { kind: 'done' } : again(context, task, 'the registry may still process it');
}

function hasEnded(seen: Seen, { documentId = '' }: Member): boolean {
  const status = seen.get(documentId)?.status;
  return status === 'processed' || status === 'failed' || status === 'failed_result_ready';
}

/**
 * Some registries show what waits for the start of its group as in work: what can still be started is not. Only what
 * shows so is asked about: of what the registry does not know it would say no for ever.
 */
async function mayBeInWork(
  context: TaskContext,
  account: string,
  { members, seen }: { members: Member[]; seen: Seen },
): Promise<boolean> {
  const inWork = members.filter(({ documentId = '' }) => seen.get(documentId)?.status === 'processing');
  if (inWork.length === 0) return false;
  const requestIds = inWork.map((one) => one.requestId);
  const check = await context.bulk.check(account, requestIds);
  return check.kind !== 'ok' || !check.value.canStart;
}

/**
 * Ends the members after the one that stopped its group, once their status shows that the registry does not process
 * them (registry-interface 3.2). A member that was processed all the same is followed to its receipt, and a stopping
 * member that turns out otherwise is waited for.
 */
export async function settleGroup(context: TaskContext, task: TaskOf<'settle_group'>): Promise<TaskResult> {
  const { groupId, account } = task.payload;
  const state = await context.groups.stateInLog(groupId);
  if (state.phase !== 'halted') return { kind: 'done' };
  const { halt, members } = state;
  const open = members.filter((one) => halt.rest.includes(one.requestId) && one.outcome === undefined);
  const stopper = members.find((one) => one.requestId === halt.member?.requestId);
  const looked = stopper === undefined ? open : [stopper, ...open];
  const seen = await statusesOf(context, account, looked);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeOneAlone(context, account, { members: looked, seen });
  if (stopper?.cause === 'registry_failed' && !seen.has(stopper.documentId ?? ''))
    return again(context, task, `${stopper.requestId}, which stopped the group, is not in the list`);
  if (stopper !== undefined && (await hasTurned(context, task, { stopper, seen })))
    return again(context, task, `${stopper.requestId}, which stopped the group, has turned`);
  const ended = await Promise.all(
    open.map((member) => settleOne(context, task, { member, seen, because: because(groupId, halt), isBehind: true })),
  );
  return ended.every(Boolean) ? { kind: 'done' } : again(context, task, 'a member is not settled yet');
}

/** `absent`: the registry knows nothing of it, so it is untouched. */
type Seen = Map<string, { status: DocumentMetadata['status'] | 'absent'; answer: Candidate }>;

/**
 * What the outgoing list says of these members now, a page at a time. Where it cannot be read, what the registry says
 * of some of them, one by one; in words, why nothing could be read.
 */
async function statusesOf(context: TaskContext, account: string, members: Member[]): Promise<Seen | string> {
  const seen: Seen = new Map();
  const ids = members.flatMap((one) => (one.documentId === undefined ? [] : [one.documentId]));
  const pageSize = context.profile.operations.list_outgoing.pageSize ?? 100;
  for (let from = 0; from < ids.length; from += pageSize) {
    const documentIds = ids.slice(from, from + pageSize);
    const outcome = await context.registry.listOutgoing(account, { documentIds, limit: documentIds.length });
    if (outcome.kind !== 'ok') {
      for (const documentId of someOf(context, documentIds)) await seeAlone(context, account, { documentId, seen });
      return seen.size === 0 ? `outgoing list: ${outcome.kind}` : seen;
    }
    const answer = candidateOf(context, outcome.raw);
    for (const { documentId, status } of outcome.value.documents) {
      seen.set(documentId, { status, answer });
      missingSince(context).delete(documentId);
    }
  }
  return seen;
}

/** The list may leave a document out for ever; all were sent 3 s ago or more, so the status of one may be asked for. */
async function seeOneAlone(
  context: TaskContext,
  account: string,
  { members, seen }: { members: Member[]; seen: Seen },
): Promise<void> {
  const absent = members.flatMap(({ documentId }) =>
    documentId === undefined || seen.has(documentId) ? [] : [documentId],
  );
  const documentId = oneOf(context, absent);
  if (documentId !== undefined) await seeAlone(context, account, { documentId, seen });
}

async function seeAlone(
  context: TaskContext,
  account: string,
  { documentId, seen }: { documentId: string; seen: Seen },
): Promise<void> {
  const outcome = await context.registry.documentStatus(account, documentId);
  if (outcome.kind === 'ok') {
    seen.set(documentId, { status: outcome.value.status, answer: candidateOf(context, outcome.raw) });
    missingSince(context).delete(documentId);
  } else if (outcome.kind === 'not_found' && isAbsent(context, documentId))
    seen.set(documentId, { status: 'absent', answer: candidateOf(context, outcome.raw) });
}

interface Missing {
  since: number;
  /** It was missing before too, and that for as long as proves that a send did not arrive (principles 6.8). */
  isProven: boolean;
}

const missing = new WeakMap<TaskContext, Map<string, Missing>>();

/** Since when the registry says of a document that it does not know it. A process that begins anew asks anew. */
function missingSince(context: TaskContext): Map<string, Missing> {
  const since = missing.get(context) ?? new Map<string, Missing>();
  missing.set(context, since);
  return since;
}

function isAbsent(context: TaskContext, documentId: string): boolean {
  const nowMs = context.clock.monotonicMs();
  const before = missingSince(context).get(documentId);
  const { since } = before ?? { since: nowMs };
  const isProven = before !== undefined && nowMs - since >= context.profile.rules.unknownGraceMs;
  missingSince(context).set(documentId, { since, isProven });
  return isProven;
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
  await memberCommand(context, task, {
    requestId: stopper.requestId,
    by: 'registry',
    command: { type: 'ObserveStatus', status: now.status, answerSha256: now.answer.sha256 },
    candidates: [now.answer],
  });
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

/** What the registry shows of a member becomes its status. */
async function observe(
  context: TaskContext,
  task: Claim,
  { member, seen }: { member: Member; seen: Seen },
): Promise<void> {
  const { status, answer } = seen.get(member.documentId ?? '') ?? {};
  if (answer === undefined || status === undefined || status === 'absent') return;
  await memberCommand(context, task, {
    requestId: member.requestId,
    by: 'registry',
    command: { type: 'ObserveStatus', status, answerSha256: answer.sha256 },
    candidates: [answer],
  });
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

/** The longer the group is halted, the less often: what is in work by its registry may be so for long. */
function again(
  context: TaskContext,
  task: TaskOf<'conclude_members'> | TaskOf<'settle_group'>,
  error: string,
): TaskResult {
  // A task of before does not say since when: that is looked at as if it had just halted.
  const { haltedAt: since = task.claimedAt.toISOString() } = task.payload;
  const firstMs = Math.max(AGAIN_FIRST_MS, context.profile.rules.statusPollMs);
  return lookTenthLater(task, { since, firstMs, error });
}
