import type { TaskResult } from '#tasks';
import { type TaskContext } from '../registry-tasks/context.js';

const LOOK_AGAIN_MS = 500;

/**
 * Wraps the handler of a task that changes something at the registry: while a restored backup is not compared with the
 * lists, it waits, and says why.
 */
export const heldBack =
  <Given extends unknown[]>(context: TaskContext, handle: (...given: Given) => Promise<TaskResult>) =>
  async (...given: Given): Promise<TaskResult> => {
    if ((await context.restored?.isHolding()) !== true) return handle(...given);
    return {
      kind: 'retry',
      delayMs: LOOK_AGAIN_MS,
      error: 'a backup was restored: nothing leaves before the document lists since then were read',
      countsAsAttempt: false,
    };
  };
