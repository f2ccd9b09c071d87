import type { HoldDecision } from '#domain';
import type { Actor } from '#event-store';
import type { Task, TaskResult } from '#tasks';
import { DecideDocument } from '../document/decide-document.js';
import { DecideGroup } from '../group/decide-group.js';
import { causeOf, type TaskContext } from './context.js';

/** What the gateway puts into a task when a person decides about what is held (apps/gateway/src/holds/holds.ts). */
interface DecisionPayload extends HoldDecision {
  requestId: string;
  isGroup?: true;
  decision: 'release' | 'end';
  actor: Actor;
  reason: string;
}

/** Releases or ends, in the name of a person, what a bad end of its predecessors holds. */
export async function decideHold(context: TaskContext, task: Task): Promise<TaskResult> {
  const { requestId, isGroup, decision, predecessors, actor, reason } = task.payload as unknown as DecisionPayload;
  const command = { type: decision === 'release' ? ('WaiveHolds' as const) : ('EndHeld' as const), predecessors };
  const cause = { ...causeOf(task, actor), reason };
  await context.commands.execute(
    isGroup === true ? new DecideGroup(requestId, command, cause) : new DecideDocument(requestId, command, cause),
  );
  return { kind: 'done' };
}
