import { ACCOMPLISHED_FACTS, documentStream, groupStream, type DocumentCommand, type GroupCommand } from '#domain';
import type { TaskResult } from '#tasks';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from './context.js';

type ItemTask = TaskOf<'wait_for_items' | 'lift_item_wait' | 'refuse_ring' | 'lapse_holds'>;

const execute = (context: TaskContext, task: ItemTask, command: DocumentCommand & GroupCommand) => {
  const { requestId, isGroup } = task.payload;
  const aggregate = isGroup === true ? context.groups : context.documents;
  return aggregate.execute(requestId, command, causeOf(task, SYSTEM));
};

/** Has a document or a group wait for earlier ones that name the same items. Its first send is not planned yet. */
export async function waitForItems(context: TaskContext, task: TaskOf<'wait_for_items'>): Promise<TaskResult> {
  const { round, for: predecessors } = task.payload;
  await execute(context, task, { type: 'WaitForItems', round, for: predecessors });
  return { kind: 'done' };
}

/** Ends the wait of a document or a group, by their items, for one that comes after it. */
export async function liftItemWait(context: TaskContext, task: TaskOf<'lift_item_wait'>): Promise<TaskResult> {
  await execute(context, task, { type: 'LiftItemWait', requestId: task.payload.predecessor });
  return { kind: 'done' };
}

/** Ends one that would wait for itself. */
export async function refuseRing(context: TaskContext, task: TaskOf<'refuse_ring'>): Promise<TaskResult> {
  await execute(context, task, { type: 'RefuseRing', ring: task.payload.ring });
  return { kind: 'done' };
}

/**
 * Releases a held report of an accomplished fact when its time is up, by the moment of its registration. Of anything
 * else, and of what is held no longer, nothing follows.
 */
export async function lapseHolds(context: TaskContext, task: TaskOf<'lapse_holds'>): Promise<TaskResult> {
  const { requestId, isGroup } = task.payload;
  const { factReleaseMs, store } = context.itemWaits ?? {};
  if (factReleaseMs === undefined || store === undefined) return { kind: 'done' };
  if (!(await reportsFact(context, task.payload))) return { kind: 'done' };
  const stream = isGroup === true ? groupStream(requestId) : documentStream(requestId);
  const [registered] = await store.readStream(stream, { fromVersion: 0, limit: 1 });
  const dueMs = (registered?.recordedAt.getTime() ?? 0) + factReleaseMs - task.claimedAt.getTime();
  if (dueMs > 0) return { kind: 'retry', delayMs: dueMs, error: 'its time is not up', countsAsAttempt: false };
  await execute(context, task, { type: 'LapseHolds' });
  return { kind: 'done' };
}

/** Whether it is held now, and reports what has happened. */
async function reportsFact(
  { documents, groups }: TaskContext,
  { requestId, isGroup }: ItemTask['payload'],
): Promise<boolean> {
  const state = await (isGroup === true ? groups : documents).stateInLog(requestId);
  if (state.phase !== 'waiting' || state.holds.every((one) => one.kind !== 'items')) return false;
  const { registration } = state;
  const types = 'members' in registration ? registration.members.map((one) => one.docType) : [registration.docType];
  return types.every((docType) => ACCOMPLISHED_FACTS.includes(docType));
}
