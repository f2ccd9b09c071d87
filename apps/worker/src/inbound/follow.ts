import type { InboundState } from '#domain';
import { mustFitRecord, readForeignDocument, readReceipt } from '#documents';
import { backoffMs, defined, PedigreeError } from '#kernel';
import { outcomeWords, saysNo, type CallOutcome } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim, TaskOf } from '../lane.js';
import { candidateOf, causeOf, xmlCandidate, type TaskContext } from '../registry-tasks/context.js';
import { whilePaused } from '../registry-tasks/refused-read.js';
import { readByPage, type Seen } from '../registry-tasks/status.js';
import { toInbound, type InboundTask } from './context.js';

type StatusTask = TaskOf<'inbound_status'>;

/** Waits between two questions for what is not there double, up to so often. */
const MOST_DOUBLINGS = 8;
const LONGEST_PROBLEM = 500;

/** Reads the status of documents of others: one by one, or many by one page of their list. */
export async function readInboundStatuses(context: TaskContext, tasks: StatusTask[]): Promise<TaskResult[]> {
  const results = new Map<StatusTask, TaskResult>();
  for (const direction of ['incoming', 'outgoing'] as const) {
    const mine = tasks.filter((task) => task.payload.direction === direction);
    if (mine.length === 1) results.set(mine[0] as StatusTask, await readSingle(context, mine[0] as StatusTask));
    else if (mine.length > 1)
      for (const [i, result] of (await readPage(context, mine)).entries()) results.set(mine[i] as StatusTask, result);
  }
  return tasks.map((task) => results.get(task) as TaskResult);
}

async function readSingle(context: TaskContext, task: StatusTask): Promise<TaskResult> {
  const { account, documentId } = task.payload;
  const outcome = await context.registry.documentStatus(account, documentId);
  if (outcome.kind !== 'ok')
    return again(context, task, {
      error: `status of ${documentId}: ${outcome.kind}`,
      isAbsent: saysNo(outcome),
    });
  return observe(context, task, { shown: outcome.value, answer: candidateOf(context, outcome.raw) });
}

async function readPage(context: TaskContext, tasks: StatusTask[]): Promise<TaskResult[]> {
  const { account, direction } = (tasks[0] as StatusTask).payload;
  const documentIds = tasks.map((task) => task.payload.documentId);
  const query = { documentIds, limit: documentIds.length };
  const outcome =
    direction === 'incoming'
      ? await context.registry.listIncoming(account, query)
      : await context.registry.listOutgoing(account, query);
  return readByPage(context, tasks, outcome, {
    alone: (task) => readSingle(context, task),
    observe: (task, seen) => observe(context, task, seen),
    unread: (task) => again(context, task, { error: `${direction} list: ${outcome.kind}`, isAbsent: saysNo(outcome) }),
    failed: (task, error) => again(context, task, { error: error.message, isAbsent: true }),
  });
}

async function observe(context: TaskContext, task: StatusTask, seen: Seen): Promise<TaskResult> {
  if (seen.shown === undefined) return again(context, task, { error: 'not in the list', isAbsent: true });
  const { status, processedAt } = seen.shown;
  const { isLastWord = false } = task.payload;
  const { state } = await toInbound(context, task, {
    type: 'ObserveStatus',
    status,
    isLastWord,
    answerSha256: seen.answer.sha256,
    candidates: [seen.answer],
    ...defined({ processedAt }),
  });
  return isUnsettled(state) ? again(context, task, { isAbsent: false }) : { kind: 'done' };
}

/** Judged by the document's state, never by this answer: another process may have recorded a newer one meanwhile. */
const isUnsettled = (state: InboundState): boolean =>
  state.phase === 'followed' && (state.status === 'uploading' || state.status === 'processing');

function again(
  context: TaskContext,
  task: StatusTask,
  { error, isAbsent }: { error?: string; isAbsent: boolean },
): TaskResult {
  const waits = isAbsent ? whilePaused(context, task, error ?? '') : undefined;
  if (waits !== undefined) return waits;
  const { statusPollMs } = context.profile.rules;
  const delayMs = isAbsent ? doubled(statusPollMs, task) : statusPollMs;
  return { kind: 'retry', delayMs, countsAsAttempt: isAbsent, ...defined({ error }) };
}

const doubled = (ms: number, task: Claim): number =>
  backoffMs(task.attempts, { firstMs: ms, mostMs: ms * 2 ** MOST_DOUBLINGS });

/**
 * Fetches the document's bytes, keeps them, and records what they say. What the registry does not give is asked for a
 * few times, then that is shown.
 */
export async function fetchInbound(context: TaskContext, task: TaskOf<'inbound_download'>): Promise<TaskResult> {
  const { account, documentId } = task.payload;
  const outcome = await context.registry.downloadDocument(account, documentId);
  if (outcome.kind !== 'ok') {
    const missing = missed(context, task, 'download', saidBy(outcome));
    if ('retry' in missing) return missing.retry;
    await toInbound(context, task, { type: 'GiveUpDownload', ...missing.givenUp });
    return { kind: 'done' };
  }
  const { xml } = outcome.value;
  const copy = xmlCandidate(context, xml);
  const download = { documentSha256: copy.sha256, byteLength: xml.length, content: orProblem(() => contentOf(xml)) };
  await toInbound(context, task, { type: 'RecordDownload', download, candidates: [copy] });
  return { kind: 'done' };
}

function contentOf(xml: Buffer) {
  const facts = mustFitRecord(readForeignDocument(xml));
  const { docType, subjectId, counterpartyId, operationDate, docNum, items, originalId } = facts;
  return {
    docType,
    subjectId,
    operationDate,
    itemCount: items.length,
    ...defined({ counterpartyId, docNum, originalId }),
  };
}

/**
 * Fetches the receipt of a document in our name that we did not send. Whose operation_id it carries is its sender's
 * business.
 */
export async function fetchInboundReceipt(context: TaskContext, task: TaskOf<'inbound_receipt'>): Promise<TaskResult> {
  const { account, documentId } = task.payload;
  const outcome = await context.registry.receipt(account, documentId);
  if (outcome.kind !== 'ok') return withoutReceipt(context, task, missed(context, task, 'receipt', saidBy(outcome)));
  const { xml } = outcome.value;
  const bytes = xmlCandidate(context, xml);
  const { sha256: receiptSha256 } = bytes;
  const read = orProblem(() => readReceipt(xml, { zone: context.profile.zone }));
  if ('problem' in read) {
    const givenUp = { reason: read.problem, attempts: task.attempts };
    return withoutReceipt(context, task, { givenUp, bytes });
  }
  const { result, acceptedAt = context.clock.now().toISOString(), comment, errors } = read;
  if (
    result === 'rejected' &&
    context.profile.transientReceipts.some((text) => (comment ?? '').toLowerCase().includes(text.toLowerCase()))
  ) {
    const reason = `it is still being prepared: ${comment ?? ''}`.slice(0, LONGEST_PROBLEM);
    return withoutReceipt(context, task, { ...missed(context, task, 'receipt', { reason, isAbsent: true }), bytes });
  }
  const receipt = {
    receiptSha256,
    result,
    acceptedAt,
    errorCount: errors.length,
    ...defined({ comment }),
  };
  await toInbound(context, task, { type: 'RecordReceipt', receipt, at: new Date(acceptedAt), candidates: [bytes] });
  return { kind: 'done' };
}

/** `bytes`: what came instead of a receipt that tells, and is kept. */
async function withoutReceipt(
  context: TaskContext,
  task: TaskOf<'inbound_receipt'>,
  { bytes, ...missing }: Missing & { bytes?: Candidate },
): Promise<TaskResult> {
  if ('retry' in missing) return missing.retry;
  const kept = bytes === undefined ? {} : { receiptSha256: bytes.sha256, candidates: [bytes] };
  await toInbound(context, task, { type: 'GiveUpReceipt', ...missing.givenUp, ...kept });
  return { kind: 'done' };
}

/**
 * Has, in the name of a person, what was given up asked for again. Where nothing is given up any more, nothing follows.
 */
export async function askAgain(context: TaskContext, task: TaskOf<'ask_inbound_again'>): Promise<TaskResult> {
  const { documentId, account, actor, reason } = task.payload;
  await context.inbound.execute(documentId, { type: 'AskAgain', account }, { ...causeOf(task, actor), reason });
  return { kind: 'done' };
}

type Missing = { retry: TaskResult } | { givenUp: { reason: string; attempts: number } };

/** An answer that there is no such thing, or one of no use, counts; a registry that is away does not. */
function missed(
  context: TaskContext,
  task: InboundTask,
  what: 'download' | 'receipt',
  { reason, isAbsent }: { reason: string; isAbsent: boolean },
): Missing {
  const { receiptPollMs, absentTries } = context.profile.rules;
  const error = `${what} of ${task.payload.documentId}: ${reason}`;
  const waits = isAbsent ? whilePaused(context, task, error) : undefined;
  if (waits !== undefined) return { retry: waits };
  if (isAbsent && task.attempts >= absentTries) return { givenUp: { reason, attempts: task.attempts } };
  return {
    retry: {
      kind: 'retry',
      delayMs: isAbsent ? doubled(receiptPollMs, task) : receiptPollMs,
      error,
      countsAsAttempt: isAbsent,
    },
  };
}

const saidBy = (outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }>): { reason: string; isAbsent: boolean } => ({
  reason: outcomeWords(outcome).slice(0, LONGEST_PROBLEM),
  isAbsent: saysNo(outcome),
});

function orProblem<T extends object>(read: () => T): T | { problem: string } {
  try {
    return read();
  } catch (error) {
    if (error instanceof PedigreeError) return { problem: error.message.slice(0, LONGEST_PROBLEM) };
    throw error;
  }
}
