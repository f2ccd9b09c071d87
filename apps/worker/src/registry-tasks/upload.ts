import { believesOthers, FINISH_POLICY, type DocumentState, type UploadAnswer, type Uploading } from '#domain';
import { outcomeWords, type CallOutcome, type LargeSend, type OpenUpload } from '#registry-client';
import type { HandlerContext, TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { judgeRefusal } from '../account/judge-refusal.js';
import { begunBefore } from '../restoration/begun-before.js';
import { answerOf, callOnce, hear, type Checked, type Heard } from './attempt.js';
import { bySystem, byRegistry, waitForAccount, type TaskContext } from './context.js';

/** The pause before a part that did not get through is resent. Parts may repeat: each names its place. */
const PART_AGAIN_MS = 2_000;

interface Parts {
  xml: Uint8Array;
  place: OpenUpload;
}

/**
 * Brings the bytes of an announced document up in parts, then says that these were all (public-facts 1.2). Parts may be
 * repeated, so a crash among them costs nothing but time, and how far it was is kept after each. The end may not: it is
 * made once (attempt.ts).
 */
export async function upload(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { signal, heldUntilMs }: HandlerContext,
): Promise<TaskResult> {
  const { requestId, account, attempt, round } = task.payload;
  const state = await context.documents.stateInLog(requestId);
  if (state.phase !== 'uploading') {
    await context.uploadLinks.forget(requestId);
    return { kind: 'done' };
  }
  return callOnce<DocumentState, Parts, UploadAnswer>(context, state, {
    account,
    attempt: round,
    heldUntilMs,
    did: 'finished the upload',
    attemptIn: (now) => (now.phase === 'uploading' && now.attempt === attempt ? now.finish : undefined),
    check: () => uploadParts(context, task, { state, signal }),
    begin: () => bySystem(context, task, { type: 'BeginFinish', attempt, round }),
    call: (parts, notAfterMonotonicMs) => finish(context, task, { ...parts, state, notAfterMonotonicMs }),
    record: (answer, candidates) =>
      candidates === undefined
        ? bySystem(context, task, { type: 'RecordUploadAnswer', attempt, round, answer })
        : record(context, task, { answer, candidates }),
  });
}

/** Its bytes, all of them, at the registry. */
async function uploadParts(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { state, signal }: { state: Uploading; signal: AbortSignal },
): Promise<Checked<Parts>> {
  const { requestId, account } = task.payload;
  const { registration, documentId } = state;
  const blob = await context.evidence.get(registration.documentSha256);
  if (blob === undefined) return failed(`evidence ${registration.documentSha256} of document ${requestId} is missing`);
  const begun = await begunBefore(context, task, { account, documentId });
  // All parts are there and the registry works on them: the look-up says what it is called there.
  if (begun !== undefined) return 'wait' in begun ? begun : { doubt: true };
  const place = await placeOf(context, state);
  if (place === undefined)
    return failed(
      `where the bytes of document ${requestId} go was lost, and the profile does not tell (lostUploadLink)`,
    );
  const parts = { xml: blob.bytes, place };
  const stopped = await sendParts(context, task, { ...parts, state, signal });
  return stopped === undefined ? { ready: parts } : { wait: stopped };
}

const failed = (error: string): { wait: TaskResult } => ({ wait: { kind: 'failed', error } });

/** What the announcement told; or, where that was lost, what the profile knows of the registry's links. */
async function placeOf(context: TaskContext, { registration, documentId }: Uploading): Promise<OpenUpload | undefined> {
  const kept = await context.uploadLinks.find(registration.requestId);
  if (kept?.documentId === documentId) return kept;
  const link = context.profile.lostUploadLink?.replaceAll('{document_id}', encodeURIComponent(documentId));
  return link === undefined ? undefined : { documentId, link, uploadedBytes: 0 };
}

/** Undefined when all parts are up; else how the task ends for now. */
async function sendParts(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { xml, place, state, signal }: Parts & { state: Uploading; signal: AbortSignal },
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
    if (outcome.kind !== 'ok') return afterPart(context, task, { state, outcome });
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
  { state, outcome }: { state: Uploading; outcome: Exclude<CallOutcome<LargeSend>, { kind: 'ok' }> },
): Promise<TaskResult> {
  const { requestId, account, attempt } = task.payload;
  const judged = { account, requestId, outcome, believesOthers: believesOthers(FINISH_POLICY, state.finish) };
  // Its upload stands as it was: nothing is known of this part, and parts may be repeated.
  if ((await judgeRefusal(context, task, { ...judged, operation: 'upload_part' })) !== undefined)
    return waitForAccount();
  if (outcome.kind === 'refused' || outcome.kind === 'not_found') {
    await record(context, task, answerOf(context, outcome, attempt));
    return { kind: 'done' };
  }
  return {
    kind: 'retry',
    delayMs: PART_AGAIN_MS,
    error: `part of ${requestId}: ${outcomeWords(outcome)}`,
    countsAsAttempt: false,
  };
}

async function finish(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { xml, place, state, notAfterMonotonicMs }: Parts & { state: Uploading; notAfterMonotonicMs: number },
): Promise<Heard<UploadAnswer>> {
  const { requestId, account, attempt } = task.payload;
  const at: LargeSend = { next: 'finish', documentId: place.documentId };
  const outcome = await context.largeDocuments.step(account, { xml, requestId, notAfterMonotonicMs }, at);
  return hear(context, task, {
    account,
    requestId,
    attempt,
    operation: 'send_finished',
    outcome,
    believesOthers: believesOthers(FINISH_POLICY, state.finish),
    done: (_, bytes) => ({
      answer: { kind: 'sent' as const, documentId: place.documentId, answerSha256: bytes.sha256 },
      candidates: [bytes],
    }),
  });
}

async function record(
  context: TaskContext,
  task: TaskOf<'upload'>,
  { answer, candidates }: Heard<UploadAnswer>,
): Promise<void> {
  const { requestId, attempt, round } = task.payload;
  // After a refusal nothing is known of the parts: they all go up again, should the look-up find the upload still open.
  if (answer.kind === 'refused') await startAnew(context, requestId);
  const said = { type: 'RecordUploadAnswer', attempt, round, answer, candidates } as const;
  const { state } = await byRegistry(context, task, said);
  if (state.phase !== 'uploading') await context.uploadLinks.forget(requestId);
}

async function startAnew(context: TaskContext, requestId: string): Promise<void> {
  const kept = await context.uploadLinks.find(requestId);
  if (kept !== undefined) await context.uploadLinks.keep(requestId, { ...kept, uploadedBytes: 0 });
}
