import type { Task, TaskResult } from '#tasks';
import { byRegistry, payloadOf, type TaskContext } from './context.js';

/** Fetches the registry's copy of a document, keeps its bytes, and records whether they are the ones that we sent. */
export async function downloadCopy(context: TaskContext, task: Task): Promise<TaskResult> {
  const { account, documentId } = payloadOf(task);
  const outcome = await context.registry.downloadDocument(account, documentId as string);
  if (outcome.kind !== 'ok') {
    const error = `download of ${documentId}: ${outcome.kind}`;
    return { kind: 'retry', delayMs: context.profile.rules.receiptPollMs, error, countsAsAttempt: false };
  }
  const documentSha256 = await context.evidence.put(outcome.value.xml, 'application/xml');
  await byRegistry(context, task, { type: 'RecordDownload', documentSha256 });
  return { kind: 'done' };
}
