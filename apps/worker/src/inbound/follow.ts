import type { InboundState } from '#domain';
import { readForeignDocument, readReceipt } from '#documents';
import { backoffMs, defined, PedigreeError } from '#kernel';
import { outcomeWords, type CallOutcome } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Claim, TaskOf } from '../lane.js';
import { candidateOf, causeOf, xmlCandidate, type TaskContext } from '../registry-tasks/context.js';
import { refusedRead, whilePaused } from '../registry-tasks/refused-read.js';
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

/** An answer, and not a registry that is away or limits us: asked again, it will hardly say otherwise soon. */
const saysNo = ({ kind }: CallOutcome<unknown>): boolean => kind === 'not_found' || kind === 'refused';

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
    const missing = missed(context, task, { what: 'download', outcome });
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
  const { docType, subjectId, counterpartyId, operationDate, docNum, items, originalId } = readForeignDocument(xml);
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
  if (outcome.kind !== 'ok') {
    const missing = missed(context, task, { what: 'receipt', outcome });
    if ('retry' in missing) return missing.retry;
    await toInbound(context, task, { type: 'GiveUpReceipt', ...missing.givenUp });
    return { kind: 'done' };
  }
  const { xml } = outcome.value;
  const bytes = xmlCandidate(context, xml);
  const { sha256: receiptSha256 } = bytes;
  const read = orProblem(() => readReceipt(xml, { zone: context.profile.zone }));
  if ('problem' in read) {
    await toInbound(context, task, {
      type: 'GiveUpReceipt',
      reason: read.problem,
      attempts: task.attempts,
      receiptSha256,
      candidates: [bytes],
    });
    return { kind: 'done' };
  }
  const { result, acceptedAt = context.clock.now().toISOString(), comment, errors } = read;
  if (
    result === 'rejected' &&
    context.profile.transientReceipts.some((text) => (comment ?? '').toLowerCase().includes(text.toLowerCase()))
  ) {
    return refusedRead(context, task, `the receipt of ${documentId} is still being prepared`);
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

/** Has, in the name of a person, what was given up asked for again. Where nothing is given up any more, nothing follows. */
export async function askAgain(context: TaskContext, task: TaskOf<'ask_inbound_again'>): Promise<TaskResult> {
  const { documentId, account, actor, reason } = task.payload;
  await context.inbound.execute(documentId, { type: 'AskAgain', account }, { ...causeOf(task, actor), reason });
  return { kind: 'done' };
}

/** An answer that there is no such thing counts; a registry that is away does not. */
function missed(
  context: TaskContext,
  task: InboundTask,
  { what, outcome }: { what: string; outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }> },
): { retry: TaskResult } | { givenUp: { reason: string; attempts: number } } {
  const { receiptPollMs, absentTries } = context.profile.rules;
  const isAbsent = saysNo(outcome);
  const reason = outcomeWords(outcome).slice(0, LONGEST_PROBLEM);
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

function orProblem<T extends object>(read: () => T): T | { problem: string } {
  try {
    return read();
  } catch (error) {
    if (error instanceof PedigreeError) return { problem: error.message.slice(0, LONGEST_PROBLEM) };
    throw error;
  }
}
