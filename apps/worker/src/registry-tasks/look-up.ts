import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { lookUpAgain, lookUpFacts } from './attempt.js';
import { byRegistry, type TaskContext } from './context.js';

/** Asks the registry by request_id whether a document of unknown outcome has arrived. */
export async function lookUp(context: TaskContext, task: TaskOf<'look_up'>): Promise<TaskResult> {
  const { requestId, account, attempt, round, attemptEndedAt } = task.payload;
  const outcome = await context.registry.findByRequestId(account, requestId);
  if (outcome.kind !== 'ok' && outcome.kind !== 'not_found')
    return lookUpAgain(task, `look-up of ${requestId}`, outcome);
  const shown = outcome.kind === 'ok' ? outcome.value : [];
  const { state } = await byRegistry(context, task, {
    type: 'RecordLookUp',
    attempt,
    documentIds: shown.map((one) => one.documentId),
    uploading: shown.filter((one) => one.status === 'uploading').map((one) => one.documentId),
    ...(round === undefined ? {} : { round }),
    ...lookUpFacts(context, task, { raw: outcome.raw, attemptEndedAt }),
  });
  if (round !== undefined && state.phase !== 'uploading') await context.uploadLinks.forget(requestId);
  return { kind: 'done' };
}
