import type { TaskResult } from '#tasks';
import { followOthersFound, foundDocuments } from '../inbound/follow-others.js';
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
  const facts = lookUpFacts(context, task, { raw: outcome.raw, attemptEndedAt });
  const { state } = await byRegistry(context, task, {
    type: 'RecordLookUp',
    attempt,
    ...foundDocuments(shown),
    ...(round === undefined ? {} : { round }),
    ...facts,
  });
  await followOthersFound(context, task, { state, found: shown, answer: facts.candidates[0] });
  if (round !== undefined && state.phase !== 'uploading') await context.uploadLinks.forget(requestId);
  return { kind: 'done' };
}
