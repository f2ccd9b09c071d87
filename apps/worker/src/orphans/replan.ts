import { continueDocument, continueGroup, type MemberState, type Replanning } from '#domain';
import type { NewTask, Task, TaskResult } from '#tasks';
import type { InboundContext } from '../inbound/context.js';
import type { Lane } from '../lane.js';

/** What apps/gateway puts into the task. */
interface ReplanPayload {
  kind: 'document' | 'group';
  id: string;
  /** The version at which it stands, and the day: two calls about one stand are one. */
  replanId: string;
}

/** The lane in which an operator's wish to have an orphan carried on is done. */
export const replanLane = (context: InboundContext): Lane => ({
  name: 'internal',
  kinds: { replan: { handle: (task) => replan(context, task) } },
  concurrency: 1,
});

/**
 * Plans anew what carries a document or group on from where it stands in the log. Its keys follow from that stand, so
 * that nothing is planned twice: two tasks for one attempt could take each other for dead.
 */
export async function replan(context: InboundContext, task: Task): Promise<TaskResult> {
  const { kind, id, replanId } = task.payload as unknown as ReplanPayload;
  const replanning: Replanning = { id: replanId, at: task.claimedAt };
  const planned =
    kind === 'document'
      ? continueDocument(await context.documents.stateInLog(id), replanning)
      : await tasksOfGroup(context, id, replanning);
  await context.queue.schedule(context.pool, planned as unknown as NewTask[]);
  return { kind: 'done' };
}

async function tasksOfGroup(
  { groups, documents }: InboundContext,
  groupId: string,
  replanning: Replanning,
): Promise<object[]> {
  const state = await groups.stateInLog(groupId);
  if (state.phase === 'absent') return [];
  const memberOf = async ({ requestId }: { requestId: string }): Promise<MemberState> => ({
    requestId,
    ...(await documents.versioned(requestId)),
  });
  return continueGroup(state, await Promise.all(state.members.map(memberOf)), replanning);
}
