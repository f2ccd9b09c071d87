import type { Registration } from '#domain';
import type { Actor } from '#event-store';
import type { Task, TaskResult } from '#tasks';
import { DecideDocument } from '../document/decide-document.js';
import { bySystem, payloadOf, type TaskContext } from './context.js';

/** Runs an accepted command: the document comes into being in the log (DESIGN section 3, intake). */
export async function runCommand(context: TaskContext, task: Task): Promise<TaskResult> {
  const { registration, actor } = task.payload as unknown as { registration: Registration; actor: Actor };
  await context.commands.execute(new DecideDocument(registration.requestId, { type: 'Register', registration }, { taskKey: task.key, actor }));
  return { kind: 'done' };
}

/** Tells a waiting document how one that it comes after has ended. */
export async function notePredecessor(context: TaskContext, task: Task): Promise<TaskResult> {
  const { predecessor, outcome } = payloadOf(task);
  if (predecessor === undefined || outcome === undefined) return { kind: 'failed', error: 'the task names no predecessor or outcome' };
  await bySystem(context, task, { type: 'NotePredecessor', requestId: predecessor, outcome });
  return { kind: 'done' };
}
