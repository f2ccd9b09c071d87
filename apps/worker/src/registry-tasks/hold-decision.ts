import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from './context.js';

/** Releases or ends, in the name of a person, what a bad end of its predecessors holds. */
export async function decideHold(context: TaskContext, task: TaskOf<'decide_hold'>): Promise<TaskResult> {
  const { requestId, isGroup, decision, predecessors, actor, reason } = task.payload;
  const command = { type: decision === 'release' ? ('WaiveHolds' as const) : ('EndHeld' as const), predecessors };
  const cause = { ...causeOf(task, actor), reason };
  await (isGroup === true ? context.groups : context.documents).execute(requestId, command, cause);
  return { kind: 'done' };
}
