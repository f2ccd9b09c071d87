import { outcomeWords, type DocumentStatus } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim } from '../lane.js';
import { candidateOf, type TaskContext } from '../registry-tasks/context.js';
import { refusedRead } from '../registry-tasks/refused-read.js';

/**
 * In a restored database a step that looks open here may have been made before: the registry's status of the document
 * tells.
 */
export async function begunBefore(
  context: TaskContext,
  task: Claim,
  at: { account: string; documentId: string | undefined; isOld?: boolean },
): Promise<{ answer: Candidate; status: DocumentStatus } | { wait: TaskResult } | undefined> {
  const { account, documentId, isOld = false } = at;
  if (context.restored?.was !== true || documentId === undefined) return undefined;
  const restMs = context.profile.rules.statusAfterSendMs + 100;
  // Where it was sent just now the status may not be asked for yet (registry-interface 8): once so long has passed it
  // may.
  if (!isOld && task.attempts === 1)
    return {
      wait: {
        kind: 'retry',
        delayMs: restMs,
        error: 'a backup was restored: the status is asked for first',
        countsAsAttempt: true,
      },
    };
  const outcome = await context.registry.documentStatus(account, documentId);
  if (outcome.kind === 'ok') {
    const { status } = outcome.value;
    return status === 'uploading' ? undefined : { answer: candidateOf(context, outcome.raw), status };
  }
  if (outcome.kind === 'not_found') return undefined;
  if (outcome.kind === 'refused') {
    // What a server before the registry may have said tells nothing of the document.
    const error = `status of ${documentId}: ${outcomeWords(outcome)}`;
    return outcome.mayBeOthers === true
      ? { wait: refusedRead(context, { ...task, payload: { account } }, error) }
      : undefined;
  }
  return {
    wait: { kind: 'retry', delayMs: restMs, error: `status of ${documentId}: ${outcome.kind}`, countsAsAttempt: false },
  };
}
