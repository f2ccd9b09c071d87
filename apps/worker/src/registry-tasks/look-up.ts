import type { Task, TaskResult } from '#tasks';
import { ageMs, byRegistry, candidateOf, payloadOf, type TaskContext } from './context.js';

const RETRY_MS = 2_000;

/**
 * Asks the registry by request_id whether a document of unknown outcome has arrived (principles 6.8).
 */
export async function lookUp(context: TaskContext, task: Task): Promise<TaskResult> {
  const { requestId, account, attempt, attemptEndedAt, round } = payloadOf(task);
  const sinceAttemptEndedMs = ageMs(task, attemptEndedAt);
  const outcome = await context.registry.findByRequestId(account, requestId);
  if (outcome.kind !== 'ok' && outcome.kind !== 'not_found') {
    return {
      kind: 'retry',
      delayMs: RETRY_MS,
      error: `look-up of ${requestId}: ${outcome.kind}`,
      countsAsAttempt: false,
    };
  }
  const answer = candidateOf(context, outcome.raw);
  const documentIds = outcome.kind === 'ok' ? outcome.value.map((one) => one.documentId) : [];
  const uploading =
    outcome.kind === 'ok' ? outcome.value.filter((one) => one.status === 'uploading').map((one) => one.documentId) : [];
  const { unknownGraceMs } = context.profile.rules;
  const inRound = round === undefined ? {} : { round };
  const { state } = await byRegistry(context, task, {
    type: 'RecordLookUp',
    attempt,
    documentIds,
    uploading,
    ...inRound,
    sinceAttemptEndedMs,
    unknownGraceMs,
    answerSha256: answer.sha256,
    candidates: [answer],
  });
  if (round !== undefined && state.phase !== 'uploading') await context.uploadLinks.forget(requestId);
  return { kind: 'done' };
}
