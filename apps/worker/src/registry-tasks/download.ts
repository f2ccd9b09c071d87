import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { byRegistry, xmlCandidate, type TaskContext } from './context.js';
import { readAgain } from './refused-read.js';

/** Fetches the registry's copy of a document, keeps its bytes, and records whether they are the ones that we sent. */
export async function downloadCopy(context: TaskContext, task: TaskOf<'download'>): Promise<TaskResult> {
  const { account, documentId } = task.payload;
  const outcome = await context.registry.downloadDocument(account, documentId);
  if (outcome.kind !== 'ok') return readAgain(context, task, { what: `download of ${documentId}`, outcome });
  const copy = xmlCandidate(context, outcome.value.xml);
  await byRegistry(context, task, { type: 'RecordDownload', documentSha256: copy.sha256, candidates: [copy] });
  return { kind: 'done' };
}
