import type { Member } from '#domain';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { ageMs, groupByRegistry, keptInMemory, type TaskContext } from './context.js';
import { again, hasEnded, isProvenAbsent, observe, seeSomeAlone, statusesOf, type Seen } from './member-looks.js';

/** Members that have not ended, and what the registry shows of them. */
export interface Looked {
  open: Member[];
  seen: Seen;
}

/**
 * Where a person has ended a group of which nobody knew whether it runs, a member that has ended, by the registry, says
 * that it does: it goes on like any that was started. If something was ended meanwhile, each member is followed by
 * itself. A bare FAILED behind one that is open says nothing: those are processed in order.
 */
export async function followBegun(
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

/** How far the looks at a group that a person ended prove that nothing of it has begun. A new process looks anew. */
const looksIn = keptInMemory(() => new Map<string, 'once' | 'proven'>());

/**
 * Two looks that show the first of them untouched, and none in work, the last past the grace: a start may land late
 * (principles 6.8). While one may be in work, those behind it wait for their turn.
 */
export function isProvenUntouched(
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
export async function lookAtEnded(
  context: TaskContext,
  task: TaskOf<'conclude_members'>,
  all: Member[],
): Promise<TaskResult> {
  const { account } = task.payload;
  const members = all.filter(({ cause, documentId }) => cause === 'not_processed' && documentId !== undefined);
  const seen = await statusesOf(context, account, members);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeSomeAlone(context, account, { members, seen });
  for (const member of members.filter((one) => hasEnded(seen, one))) await observe(context, task, { member, seen });
  const isOver = (one: Member): boolean => hasEnded(seen, one) || isProvenAbsent(context, one);
  return members.every(isOver) ? { kind: 'done' } : again(context, task, 'the registry may still process it');
}
