import type { UploadAnswer, Uploading } from '#domain';
import { neverReached } from '#kernel';
import type { CallOutcome, DocumentToSend, LargeSend, OpenUpload } from '#registry-client';
import type { TaskResult } from '#tasks';
import { judgeRefusal } from '../account/judge-refusal.js';
import { begunBefore } from '../restoration/begun-before.js';
import type { TaskOf } from '../lane.js';
import { bySystem, byRegistry, keep, waitForAccount, type TaskContext } from './context.js';
import { retryAfterMs, WRITE_WITHIN_MS } from './patience.js';

/** How long a part rests that did not get through: it may go again, since it says its place. */
const PART_AGAIN_MS = 2_000;

/**
 * Brings the bytes of an announced document up in parts, then says that these were all (public-facts 1.2). Parts may be
 * repeated, so a crash among them costs nothing but time, and how far it was is kept after each. The end may not: as
 * with a send, its intent is an event before the call, and whoever finds that intent without an answer records an
 * unknown outcome, for the look-up to decide.
 */
export async function upload(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { signal }: { signal: AbortSignal },
): Promise<TaskResult> {
  const { requestId, attempt, round } = task.payload;
  const state = await context.documents.stateInLog(requestId);
  if (state.phase !== 'uploading') {
    await context.uploadLinks.forget(requestId);
    return { kind: 'done' };
  }
  if (state.attempt !== attempt || state.round !== round || state.step === 'doubtful') return { kind: 'done' };
  if (state.step === 'finishing') return giveUpEarlierRun(context, task, state);
  if (await context.gates.isPaused(task.payload.account)) return waitForAccount();
  const blob = await context.evidence.get(state.registration.documentSha256);
  if (blob === undefined)
    return {
      kind: 'failed',
      error: `evidence ${state.registration.documentSha256} of document ${requestId} is missing`,
    };
  const begun = await begunBefore(context, task, { account: task.payload.account, documentId: state.documentId });
  if (begun !== undefined) return 'wait' in begun ? begun.wait : doubtFinish(context, task);
  const place = await placeOf(context, state);
  if (place === undefined)
    return {
      kind: 'failed',
      error: `where the bytes of document ${requestId} go was lost, and the profile does not tell (lostUploadLink)`,
    };
  const stopped = await bringUp(context, task, { xml: blob.bytes, place, signal });
  return stopped ?? finish(context, task, { xml: blob.bytes, place });
}

/** What the announcement told; or, where that was lost, what the profile knows of the registry's links. */
async function placeOf(context: TaskContext, { registration, documentId }: Uploading): Promise<OpenUpload | undefined> {
  const kept = await context.uploadLinks.find(registration.requestId);
  if (kept?.documentId === documentId) return kept;
  const link = context.profile.lostUploadLink?.replaceAll('{document_id}', encodeURIComponent(documentId));
  return link === undefined ? undefined : { documentId, link, uploadedBytes: 0 };
}

interface Parts {
  xml: Uint8Array;
  place: OpenUpload;
  signal: AbortSignal;
}

/** Undefined when all parts are up; else how the task ends for now. */
async function bringUp(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { xml, place, signal }: Parts,
): Promise<TaskResult | undefined> {
  const { requestId, account } = task.payload;
  const most = Math.ceil(xml.byteLength / context.profile.rules.uploadPartBytes) + 1;
  let at: LargeSend =
    place.uploadedBytes >= xml.byteLength
      ? { next: 'finish', documentId: place.documentId }
      : { next: 'upload', ...place };
  for (let parts = 0; parts < most && at.next === 'upload'; parts += 1) {
    if (signal.aborted || (await context.gates.isPaused(account))) return { kind: 'give_back' };
    const outcome: CallOutcome<LargeSend> = await context.largeDocuments.step(account, { xml, requestId }, at);
    if (outcome.kind !== 'ok') return afterPart(context, task, outcome);
    at = outcome.value;
    await context.uploadLinks.keep(requestId, {
      ...place,
      uploadedBytes: at.next === 'upload' ? at.uploadedBytes : xml.byteLength,
    });
  }
  return undefined;
}

async function afterPart(
  context: TaskContext,
  task: TaskOf<'upload'>,
  outcome: Exclude<CallOutcome<LargeSend>, { kind: 'ok' }>,
): Promise<TaskResult> {
  if (outcome.kind === 'refused' || outcome.kind === 'not_found')
    return record(context, task, await refusalOf(context, outcome));
  const why = outcome.kind === 'rate_limited' ? outcome.text : outcome.reason;
  return {
    kind: 'retry',
    delayMs: PART_AGAIN_MS,
    error: `part of ${task.payload.requestId}: ${outcome.kind}: ${why}`,
    countsAsAttempt: false,
  };
}

async function finish(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { xml, place }: Omit<Parts, 'signal'>,
): Promise<TaskResult> {
  const { requestId, account, attempt, round } = task.payload;
  // The same waits as before a send: no intent without a token, and none that may be written after its lease.
  const prepared = await context.registry.prepare(account);
  if (prepared.kind === 'not_ready')
    return { kind: 'retry', delayMs: PART_AGAIN_MS, error: prepared.reason, countsAsAttempt: false };
  const notAfterMonotonicMs = context.clock.monotonicMs() + WRITE_WITHIN_MS;
  const begun = await bySystem(context, task, { type: 'BeginFinish', attempt, round: round });
  const { state } = begun;
  if (begun.events.length === 0) {
    const isOurs =
      state.phase === 'uploading' && state.attempt === attempt && state.round === round && state.step === 'finishing';
    return isOurs ? giveUpEarlierRun(context, task, state) : { kind: 'done' };
  }
  const document: DocumentToSend = { xml, requestId, notAfterMonotonicMs };
  const outcome = await context.largeDocuments.step(account, document, {
    next: 'finish',
    documentId: place.documentId,
  });
  return record(context, task, await finishAnswer(context, task, outcome));
}

/**
 * All parts are at the registry and it works on them, as was not known here: the look-up says what it is called there.
 */
async function doubtFinish(context: TaskContext, task: TaskOf<'upload'>): Promise<TaskResult> {
  const { attempt, round } = task.payload;
  const { state } = await bySystem(context, task, { type: 'BeginFinish', attempt, round: round });
  return state.phase === 'uploading' ? giveUpEarlierRun(context, task, state) : { kind: 'done' };
}

async function giveUpEarlierRun(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { attempt, round }: Uploading,
): Promise<TaskResult> {
  const answer: UploadAnswer = {
    kind: 'unconfirmed',
    reason: 'the process that finished the upload ended before the answer was recorded',
  };
  await bySystem(context, task, { type: 'RecordUploadAnswer', attempt, round, answer });
  return { kind: 'done' };
}

async function record(context: TaskContext, task: TaskOf<'upload'>, answer: UploadAnswer): Promise<TaskResult> {
  const { requestId, attempt, round } = task.payload;
  // After a refusal nothing is known of the parts: they all go up again, should the look-up find the upload still open.
  if (answer.kind === 'refused') await startAnew(context, requestId);
  const { state } = await byRegistry(context, task, {
    type: 'RecordUploadAnswer',
    attempt,
    round: round,
    answer,
  });
  if (state.phase !== 'uploading') await context.uploadLinks.forget(requestId);
  return { kind: 'done' };
}

async function startAnew(context: TaskContext, requestId: string): Promise<void> {
  const kept = await context.uploadLinks.find(requestId);
  if (kept !== undefined) await context.uploadLinks.keep(requestId, { ...kept, uploadedBytes: 0 });
}

async function finishAnswer(
  context: TaskContext,
  task: TaskOf<'upload'>,
  outcome: CallOutcome<LargeSend>,
): Promise<UploadAnswer> {
  const { account, requestId, attempt } = task.payload;
  const fault = await judgeRefusal(context, task, { account, operation: 'send_finished', outcome, requestId });
  if (fault !== undefined)
    return {
      kind: 'not_delivered',
      reason: fault.text,
      retryAfterMs: retryAfterMs(attempt),
      answerSha256: fault.answerSha256,
    };
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'sent', answerSha256: await keep(context, outcome.raw) };
    case 'refused':
    case 'not_found':
      return refusalOf(context, outcome);
    case 'rate_limited':
      return {
        kind: 'not_delivered',
        reason: outcome.text,
        retryAfterMs: retryAfterMs(attempt),
        answerSha256: await keep(context, outcome.raw),
      };
    case 'not_sent':
      return { kind: 'not_delivered', reason: outcome.reason, retryAfterMs: retryAfterMs(attempt) };
    case 'unknown':
      return {
        kind: 'unconfirmed',
        reason: outcome.reason,
        ...(outcome.raw === undefined ? {} : { answerSha256: await keep(context, outcome.raw) }),
      };
    default:
      return neverReached(outcome, 'call outcome');
  }
}

const refusalOf = async (
  context: TaskContext,
  outcome: Extract<CallOutcome<LargeSend>, { kind: 'refused' | 'not_found' }>,
): Promise<Extract<UploadAnswer, { kind: 'refused' }>> => ({
  ...{ kind: 'refused', code: outcome.kind === 'refused' ? outcome.code : 'not_found', text: outcome.text },
  answerSha256: await keep(context, outcome.raw),
});
