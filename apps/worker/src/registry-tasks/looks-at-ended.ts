import { endedAnyway, LATE_READS } from '#domain';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import type { TaskContext } from './context.js';
import { again, hasReceipt, observe, seeSomeAlone, statusesOf } from './member-looks.js';

/**
 * Something was ended as not processed, and the registry may go on with it (`endedAnyway`). It is looked at as often as
 * a bare FAILED that may turn (decision 134).
 */
export async function lookAtEndedAnyway(
  { dependents, profile }: TaskContext,
  { claimedAt, payload: { groupId, account } }: TaskOf<'note_member'>,
): Promise<void> {
  if (dependents === undefined) return;
  const { failedGraceMs, unknownGraceMs } = profile.rules;
  const stepMs = Math.max(failedGraceMs, unknownGraceMs);
  const looks = [0, 1, ...LATE_READS].map((times) => ({
    key: `settle_group:${groupId}:late-${times}`,
    kind: 'settle_group' as const,
    lane: `${account}/status`,
    dueAt: new Date(claimedAt.getTime() + times * stepMs),
    payload: { groupId, account, haltedAt: claimedAt.toISOString() },
  }));
  await dependents.queue.schedule(dependents.pool, looks);
}

/** One look at what was ended so: what the registry has processed after all is told as revised. */
export async function settleEndedAnyway(
  context: TaskContext,
  task: TaskOf<'settle_group'>,
  state: Parameters<typeof endedAnyway>[0],
): Promise<TaskResult> {
  const members = endedAnyway(state);
  if (members.length === 0) return { kind: 'done' };
  const { account } = task.payload;
  const seen = await statusesOf(context, account, members);
  if (typeof seen === 'string') return again(context, task, seen);
  await seeSomeAlone(context, account, { members, seen });
  for (const member of members.filter((one) => hasReceipt(seen, one))) await observe(context, task, { member, seen });
  return { kind: 'done' };
}
