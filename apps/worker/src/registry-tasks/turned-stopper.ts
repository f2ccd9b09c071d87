import { endedBehindTurned, LATE_READS, type GroupState } from '#domain';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import type { TaskContext } from './context.js';
import { again, hasReceipt, observe, seeSomeAlone, statusesOf } from './member-looks.js';

/**
 * The member that had stopped its group has turned, after others were ended for that: the registry may go on with
 * these. They are looked at as often as a bare FAILED that may turn (decision 17).
 */
export async function lookBehindTurned(
  { dependents, profile }: TaskContext,
  { claimedAt, payload: { groupId, account } }: TaskOf<'note_member'>,
  state: GroupState,
): Promise<void> {
  if (dependents === undefined || endedBehindTurned(state).length === 0) return;
  const { failedGraceMs, unknownGraceMs } = profile.rules;
  const stepMs = Math.max(failedGraceMs, unknownGraceMs);
  const looks = [0, 1, ...LATE_READS].map((times) => ({
    key: `settle_group:${groupId}:turned-${times}`,
    kind: 'settle_group' as const,
    lane: `${account}/status`,
    dueAt: new Date(claimedAt.getTime() + times * stepMs),
    payload: { groupId, account },
  }));
  await dependents.queue.schedule(dependents.pool, looks);
}

/** One look at what was ended so: what the registry has processed after all is told as revised. */
export async function settleBehindTurned(
  context: TaskContext,
  task: TaskOf<'settle_group'>,
  state: GroupState,
): Promise<TaskResult> {
  const members = endedBehindTurned(state);
  if (members.length === 0) return { kind: 'done' };
  const { account } = task.payload;
  const seen = await statusesOf(context, account, members);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeSomeAlone(context, account, { members, seen });
  for (const member of members.filter((one) => hasReceipt(seen, one))) await observe(context, task, { member, seen });
  return { kind: 'done' };
}
