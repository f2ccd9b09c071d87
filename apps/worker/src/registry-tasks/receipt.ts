import { readReceipt, type ReceiptFacts } from '#documents';
import { PedigreeError } from '#kernel';
import type { Profile } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { byRegistry, payloadOf, type TaskContext } from './context.js';

/** Fetches the receipt, keeps its bytes, and records what it says. */
export async function fetchReceipt(context: TaskContext, task: Task): Promise<TaskResult> {
  const { requestId, account, documentId } = payloadOf(task);
  const outcome = await context.registry.receipt(account, documentId as string);
  if (outcome.kind !== 'ok') {
    const error = `receipt of ${documentId}: ${outcome.kind}`;
    return { kind: 'retry', delayMs: context.profile.rules.receiptPollMs, error, countsAsAttempt: false };
  }
  const receiptSha256 = await context.evidence.put(outcome.value.xml, 'application/xml');
  const receipt = readOrExplain(outcome.value.xml, context.profile);
  if (receipt instanceof PedigreeError) return { kind: 'failed', error: `receipt ${receiptSha256} of ${documentId}: ${receipt.message}` };
  if (receipt.operationId !== requestId) {
    return { kind: 'failed', error: `receipt ${receiptSha256} of ${documentId} is for operation ${receipt.operationId}, not for ${requestId}` };
  }
  if (isTransient(context, receipt)) {
    const error = `receipt ${receiptSha256} of ${documentId} says that it is still being prepared`;
    return { kind: 'retry', delayMs: context.profile.rules.receiptPollMs, error, countsAsAttempt: false };
  }
  const { result, acceptedAt, comment, errors } = receipt;
  const said = { receiptSha256, result, acceptedAt, errorCount: errors.length, ...(comment === undefined ? {} : { comment }) };
  await byRegistry(context, task, { type: 'RecordReceipt', receipt: said, at: new Date(acceptedAt) });
  return { kind: 'done' };
}

/** Some rejections say of themselves that they are none. */
const isTransient = (context: TaskContext, { result, comment = '' }: ReceiptFacts): boolean =>
  result === 'rejected' && context.profile.transientReceipts.some((text) => comment.toLowerCase().includes(text.toLowerCase()));

function readOrExplain(xml: Buffer, { zone }: Profile): ReceiptFacts | PedigreeError {
  try {
    return readReceipt(xml, { zone });
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
}
