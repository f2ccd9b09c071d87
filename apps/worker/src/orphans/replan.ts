import { continueDocument, continueGroup, type MemberState, type PlannedTask, type Replanning } from '#domain';
import type { TaskResult } from '#tasks';
import type { InboundContext } from '../inbound/context.js';
import type { TaskOf } from '../lane.js';

/**
 * Plans anew what carries a document or group on from where it stands in the log. Its keys follow from that stand, so
 * that nothing is planned twice: two tasks for one attempt could take each other for dead.
 */
export async function replan(context: InboundContext, task: TaskOf<'replan'>): Promise<TaskResult> {
  const { kind, id, replanId } = task.payload;
  const replanning: Replanning = { id: replanId, at: task.claimedAt };
  const planned =
    kind === 'document'
      ? continueDocument(await context.documents.stateInLog(id), replanning)
      : await tasksOfGroup(context, id, replanning);
  await context.queue.schedule(context.pool, planned);
  return { kind: 'done' };
}

async function tasksOfGroup(
  { groups, documents }: InboundContext,
  groupId: string,
  replanning: Replanning,
): Promise<PlannedTask[]> {
  const state = await groups.stateInLog(groupId);
  if (state.phase === 'absent') return [];
  const memberOf = async ({ requestId }: { requestId: string }): Promise<MemberState> => ({
    requestId,
    ...(await documents.versioned(requestId)),
  });
  return continueGroup(state, await Promise.all(state.members.map(memberOf)), replanning);
}
