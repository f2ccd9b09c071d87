import { readReceipt, type ReceiptFacts } from '#documents';
import { defined, PedigreeError } from '#kernel';
import type { Profile } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { TaskOf } from '../lane.js';
import { byRegistry, xmlCandidate, type TaskContext } from './context.js';
import { readAgain, refusedRead } from './refused-read.js';

/** Fetches the receipt, keeps its bytes, and records what it says. */
export async function fetchReceipt(context: TaskContext, task: TaskOf<'receipt'>): Promise<TaskResult> {
  const { requestId, account, documentId } = task.payload;
  const outcome = await context.registry.receipt(account, documentId);
  if (outcome.kind !== 'ok') return readAgain(context, task, { what: `receipt of ${documentId}`, outcome });
  const bytes = xmlCandidate(context, outcome.value.xml);
  const { sha256: receiptSha256 } = bytes;
  const receipt = readOrExplain(outcome.value.xml, context.profile);
  if (receipt instanceof PedigreeError)
    return unfit(context, task, { bytes, error: `receipt ${receiptSha256} of ${documentId}: ${receipt.message}` });
  const why = await whyNotOf(context, requestId, receipt);
  if (why !== undefined)
    return unfit(context, task, { bytes, error: `receipt ${receiptSha256} of ${documentId} ${why}` });
  if (isTransient(context, receipt))
    return refusedRead(
      context,
      task,
      `receipt of ${documentId} says that it is still being prepared: ${receipt.comment ?? ''}`,
    );
  const { result, acceptedAt = context.clock.now().toISOString(), comment, errors } = receipt;
  const said = {
    receiptSha256,
    result,
    acceptedAt,
    errorCount: errors.length,
    ...defined({ comment }),
  };
  await byRegistry(context, task, {
    type: 'RecordReceipt',
    receipt: said,
    at: new Date(acceptedAt),
    candidates: [bytes],
  });
  return { kind: 'done' };
}

/** Why it is not a receipt of this document: it names another, or answers a query that this one is not. */
async function whyNotOf(
  context: TaskContext,
  requestId: string,
  { operationId, answers }: ReceiptFacts,
): Promise<string | undefined> {
  if (answers === undefined)
    return operationId === requestId ? undefined : `is for operation ${operationId}, not for ${requestId}`;
  const state = await context.documents.state(requestId);
  const docType = state.phase === 'absent' ? undefined : state.registration.docType;
  return docType === answers ? undefined : `answers a query of type ${answers}; the document is of type ${docType}`;
}

/**
 * What cannot be taken for this document's receipt may come from a server before the registry, and is asked for again
 * as a refusal is. If it stays so, it is left to people: no event names it, but whoever looks into it needs its bytes.
 */
async function unfit(
  context: TaskContext,
  task: TaskOf<'receipt'>,
  { bytes, error }: { bytes: Candidate; error: string },
): Promise<TaskResult> {
  const result = refusedRead(context, task, error);
  if (result.kind === 'failed') await bytes.store();
  return result;
}

/** Some rejections say of themselves that they are none. */
const isTransient = (context: TaskContext, { result, comment = '' }: ReceiptFacts): boolean =>
  result === 'rejected' &&
  context.profile.transientReceipts.some((text) => comment.toLowerCase().includes(text.toLowerCase()));

function readOrExplain(xml: Buffer, { zone }: Profile): ReceiptFacts | PedigreeError {
  try {
    return readReceipt(xml, { zone });
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
}
