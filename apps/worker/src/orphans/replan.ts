import { continueDocument, continueGroup, outcomeForDependents, type DocumentOutcome, type DocumentReference, type MemberState, type PlannedGroupTask, type PlannedTask, type Replanning } from '#domain';
import type { NewTask, Task, TaskResult } from '#tasks';
import type { InboundContext } from '../inbound/context.js';
import type { Lane } from '../lane.js';

/** What apps/gateway puts into the task. */
interface ReplanPayload {
  kind: 'document' | 'group';
  id: string;
  /** New each time that somebody asks. */
  replanId: string;
}

/** The lane in which an operator's wish to have an orphan carried on is done. */
export const replanLane = (context: InboundContext): Lane => ({
  name: 'internal',
  kinds: { replan: { handle: (task) => replan(context, task) } },
  concurrency: 1,
});

/**
 * Plans anew what carries a document or group on from where it stands in the log. Each of these tasks judges by the state when it runs, so one
 * too many does nothing.
 */
export async function replan(context: InboundContext, task: Task): Promise<TaskResult> {
  const { kind, id, replanId } = task.payload as unknown as ReplanPayload;
  const replanning: Replanning = { id: replanId, at: task.claimedAt };
  const planned = kind === 'document' ? await tasksOfDocument(context, id, replanning) : await tasksOfGroup(context, id, replanning);
  await context.queue.schedule(context.pool, planned as unknown as NewTask[]);
  return { kind: 'done' };
}

type Planned = PlannedTask | PlannedGroupTask;

async function tasksOfDocument(context: InboundContext, requestId: string, replanning: Replanning): Promise<Planned[]> {
  const state = await context.documents.stateInLog(requestId);
  if (state.phase !== 'waiting') return continueDocument(state, replanning);
  const { account } = state.registration;
  const tell = (predecessor: string, outcome: DocumentOutcome): PlannedTask => ({
    ...{ key: `note_predecessor:${requestId}:${predecessor}:replanned:${replanning.id}`, kind: 'note_predecessor', lane: 'internal', dueAt: replanning.at },
    payload: { requestId, account, predecessor, outcome },
  });
  return endedAmong(context, state.waitingFor, tell);
}

async function tasksOfGroup(context: InboundContext, groupId: string, replanning: Replanning): Promise<Planned[]> {
  const state = await context.groups.stateInLog(groupId);
  if (state.phase === 'absent') return [];
  if (state.phase !== 'waiting') return continueGroup(state, await Promise.all(state.members.map(({ requestId }) => memberOf(context, requestId))), replanning);
  const { account } = state.registration;
  const tell = (predecessor: string, outcome: DocumentOutcome): PlannedGroupTask => ({
    ...{ key: `note_predecessor:${groupId}:${predecessor}:replanned:${replanning.id}`, kind: 'note_group_predecessor', lane: 'internal', dueAt: replanning.at },
    payload: { groupId, account, predecessor, outcome },
  });
  return endedAmong(context, state.waitingFor, tell);
}

async function memberOf(context: InboundContext, requestId: string): Promise<MemberState> {
  return { requestId, ...(await context.documents.versioned(requestId)) };
}

/** What is waited for may be a document or a group; what has ended is told. */
async function endedAmong<Task>(context: InboundContext, waitingFor: DocumentReference[], tell: (predecessor: string, outcome: DocumentOutcome) => Task): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const { requestId } of waitingFor) {
    const [document, group] = [await context.documents.stateInLog(requestId), await context.groups.stateInLog(requestId)];
    if (document.phase === 'concluded') tasks.push(tell(requestId, document.outcome));
    if (group.phase === 'concluded') tasks.push(tell(requestId, outcomeForDependents({ outcome: group.outcome, ...(group.halt === undefined ? {} : { halt: group.halt.cause }) })));
  }
  return tasks;
}
