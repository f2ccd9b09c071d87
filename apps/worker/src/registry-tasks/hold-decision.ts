import { defined } from '#kernel';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from './context.js';

/**
 * Releases or ends, in the name of a person, what is held, for whatever reason, or waits for what never came; or ends a
 * group of which nobody knows whether it has begun.
 */
export async function decideHold(context: TaskContext, task: TaskOf<'decide_hold'>): Promise<TaskResult> {
  const { start: attempt, inWork } = task.payload;
  if (attempt !== undefined || inWork === true) return endGroup(context, task);
  const { requestId, isGroup, decision, predecessors, actor, reason } = task.payload;
  const missing = task.payload.missing && (await absentAmong(context, task.payload.missing));
  const type = decision === 'release' ? ('WaiveHolds' as const) : ('EndHeld' as const);
  const command = { type, predecessors, ...defined({ missing }) };
  const cause = { ...causeOf(task, actor), reason };
  await (isGroup === true ? context.groups : context.documents).execute(requestId, command, cause);
  return { kind: 'done' };
}

async function endGroup(context: TaskContext, task: TaskOf<'decide_hold'>): Promise<TaskResult> {
  const { requestId: groupId, start: attempt, inWork, actor, reason } = task.payload;
  const command = { type: 'EndByPerson' as const, reason, ...defined({ attempt, inWork }) };
  await context.groups.execute(groupId, command, { ...causeOf(task, actor), reason });
  return { kind: 'done' };
}

/** Those that have not registered since the decision either, as a document or as a group: these never came. */
async function absentAmong({ documents, groups }: TaskContext, requestIds: string[]): Promise<string[]> {
  const found = await Promise.all(
    requestIds.map(async (id) => {
      const states = await Promise.all([documents.stateInLog(id), groups.stateInLog(id)]);
      return states.every(({ phase }) => phase === 'absent') ? [id] : [];
    }),
  );
  return found.flat();
}

/** Holds, in the name of a person, what was not sent. Where its send has begun meanwhile, nothing follows. */
export async function holdDocument(context: TaskContext, task: TaskOf<'hold_document'>): Promise<TaskResult> {
  const { requestId, actor, reason, holds } = task.payload;
  const cause = { ...causeOf(task, actor), reason };
  const command = { type: 'HoldByPerson' as const, by: actor.name, reason, ...defined({ holds }) };
  await context.documents.execute(requestId, command, cause);
  return { kind: 'done' };
}
