import { defined } from '#kernel';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from './context.js';

/** Releases or ends, in the name of a person, what is held, for whatever reason, or waits for what never came. */
export async function decideHold(context: TaskContext, task: TaskOf<'decide_hold'>): Promise<TaskResult> {
  const { requestId, isGroup, decision, actor, reason } = task.payload;
  const { predecessors, missing } = task.payload;
  const type = decision === 'release' ? ('WaiveHolds' as const) : ('EndHeld' as const);
  const command = { type, predecessors, ...defined({ missing }) };
  const cause = { ...causeOf(task, actor), reason };
  await (isGroup === true ? context.groups : context.documents).execute(requestId, command, cause);
  return { kind: 'done' };
}

/** Holds, in the name of a person, what was not sent. Where its send has begun meanwhile, nothing follows. */
export async function holdDocument(context: TaskContext, task: TaskOf<'hold_document'>): Promise<TaskResult> {
  const { requestId, actor, reason, holds } = task.payload;
  const cause = { ...causeOf(task, actor), reason };
  const command = { type: 'HoldByPerson' as const, by: actor.name, reason, ...defined({ holds }) };
  await context.documents.execute(requestId, command, cause);
  return { kind: 'done' };
}
