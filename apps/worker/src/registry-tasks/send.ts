import type { SendAnswer } from '#domain';
import { neverReached, PedigreeError, type Sha256 } from '#kernel';
import type { CallOutcome, DocumentToSend } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { judgeRefusal } from '../account/judge-refusal.js';
import { heldAlready } from '../inbound/held-already.js';
import { bySystem, byRegistry, keep, payloadOf, waitForAccount, type TaskContext } from './context.js';
import { retryAfterMs, WRITE_WITHIN_MS } from './patience.js';

/** How long a document rests that could not be signed. */
const SIGN_AGAIN_AFTER_MS = 10_000;

/** While nobody can sign in, no attempt is begun; the sessions have a back-off of their own. */
const NOT_READY_MS = 1_000;

/**
 * Sends one document once. The order of durable steps is the promise (principles 2.2): signature and certificate into
 * the evidence, then the intent as an event, then the call, then its answer as an event. A crash after the intent
 * leaves the phase `sending`; whoever takes the task next records an unknown outcome, and the look-up decides. Of a
 * document above the registry's limit the call only announces it; its bytes go up by another task (upload.ts).
 */
export async function send(context: TaskContext, task: Task): Promise<TaskResult> {
  const { requestId, account, attempt } = payloadOf(task);
  const remembered = await context.documents.state(requestId);
  // Only to go ahead may memory be old: the log refuses an intent that does not follow from it.
  const state =
    remembered.phase === 'ready' && remembered.nextAttempt === attempt
      ? remembered
      : await context.documents.stateInLog(requestId);
  if (state.phase === 'sending' && state.attempt === attempt) return giveUpEarlierRun(context, task);
  if (state.phase !== 'ready' || state.nextAttempt !== attempt) return { kind: 'done' };
  if (await context.gates.isPaused(account)) return waitForAccount();

  const alreadyHeld = await heldAlready(context, task, state.registration);
  if (alreadyHeld !== undefined) return alreadyHeld;
  const { documentSha256 } = state.registration;
  const blob = await context.evidence.get(documentSha256);
  if (blob === undefined)
    return { kind: 'failed', error: `evidence ${documentSha256} of document ${requestId} is missing` };
  const { maxDocumentBytes, maxLargeDocumentBytes } = context.profile.rules;
  if (blob.bytes.length > maxLargeDocumentBytes)
    return {
      kind: 'failed',
      error: `document ${requestId} has ${blob.bytes.length} bytes; the registry takes ${maxLargeDocumentBytes}`,
    };
  const isLarge = blob.bytes.length > maxDocumentBytes;
  // Before the signature: each one is new evidence, and a document that cannot go needs none.
  const prepared = await context.registry.prepare(account);
  if (prepared.kind === 'not_ready')
    return { kind: 'retry', delayMs: NOT_READY_MS, error: prepared.reason, countsAsAttempt: false };
  const signing = await sign(context, account, blob.bytes);
  if ('failed' in signing) return unsigned(context, task, signing.failed);
  const { signature } = signing;
  const signed = signature === undefined ? {} : await keepSignature(context, account, signature);
  const notAfterMonotonicMs = context.clock.monotonicMs() + WRITE_WITHIN_MS;
  const begun = await bySystem(context, task, { type: 'BeginSend', ...signed, ...(isLarge ? { upload: true } : {}) });
  if (begun.events.length === 0)
    return begun.state.phase === 'sending' && begun.state.attempt === attempt
      ? giveUpEarlierRun(context, task)
      : { kind: 'done' };

  const document: DocumentToSend = {
    xml: blob.bytes,
    signature,
    requestId,
    ...(state.registration.group === undefined ? {} : { bulkProcessing: true }),
    notAfterMonotonicMs,
  };
  const answer = isLarge
    ? await announce(context, task, document)
    : await answerOf(context, task, {
        operation: 'send',
        outcome: await context.registry.sendDocument(account, document),
      });
  await byRegistry(context, task, { type: 'RecordSendAnswer', attempt, answer });
  return { kind: 'done' };
}

/**
 * A signer that is away, or a certificate that has ended, says nothing against the document: it waits, however long
 * that takes.
 */
async function sign(
  context: TaskContext,
  account: string,
  xml: Uint8Array,
): Promise<{ signature: Buffer | undefined } | { failed: PedigreeError }> {
  try {
    return { signature: await context.registry.sign(account, xml) };
  } catch (error) {
    if (error instanceof PedigreeError && error.code === 'signing_failed') return { failed: error };
    throw error;
  }
}

/**
 * One document after the other would ask a signer that is away: the whole account rests. One that signs with another
 * certificate is for a person.
 */
async function unsigned(context: TaskContext, task: Task, { message, place }: PedigreeError): Promise<TaskResult> {
  const { account } = payloadOf(task);
  context.gates.rest(account, SIGN_AGAIN_AFTER_MS);
  if (place.field === 'certificate')
    await context.gates.pauseBySystem(
      account,
      { cause: 'certificate', code: 'signed_by_another', text: message },
      task.key,
    );
  return { kind: 'retry', delayMs: SIGN_AGAIN_AFTER_MS, error: message, countsAsAttempt: false };
}

/** An earlier run of this task recorded the intent, and nobody knows whether it made the call. */
async function giveUpEarlierRun(context: TaskContext, task: Task): Promise<TaskResult> {
  const answer: SendAnswer = {
    kind: 'unconfirmed',
    reason: 'the process that sent it ended before the answer was recorded',
  };
  await bySystem(context, task, { type: 'RecordSendAnswer', attempt: payloadOf(task).attempt, answer });
  return { kind: 'done' };
}

/** Where the bytes go is kept before the event that says that they may go. */
async function announce(context: TaskContext, task: Task, document: DocumentToSend): Promise<SendAnswer> {
  const outcome = await context.largeDocuments.step(payloadOf(task).account, document, { next: 'announce' });
  if (outcome.kind !== 'ok') return answerOf(context, task, { operation: 'send_large', outcome });
  const at = outcome.value;
  if (at.next !== 'upload') throw new Error(`document ${document.requestId} was announced, and then comes ${at.next}`);
  await context.uploadLinks.keep(document.requestId, { documentId: at.documentId, link: at.link, uploadedBytes: 0 });
  return { kind: 'announced', documentId: at.documentId };
}

async function answerOf(
  context: TaskContext,
  task: Task,
  { operation, outcome }: { operation: 'send' | 'send_large'; outcome: CallOutcome<{ documentId: string }> },
): Promise<SendAnswer> {
  const { account, requestId, attempt } = payloadOf(task);
  const fault = await judgeRefusal(context, task, { account, operation, outcome, requestId });
  if (fault !== undefined) return { kind: 'account_refused', ...fault, retryAfterMs: retryAfterMs(attempt) };
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'sent', documentId: outcome.value.documentId, answerSha256: await keep(context, outcome.raw) };
    case 'refused':
      return {
        kind: 'refused',
        code: outcome.code,
        text: outcome.text,
        answerSha256: await keep(context, outcome.raw),
      };
    case 'not_found':
      return { kind: 'refused', code: 'not_found', text: outcome.text, answerSha256: await keep(context, outcome.raw) };
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

/** Digests of certificates that are in the evidence, by the Buffer in which the client hands them out. */
const certificates = new WeakMap<TaskContext, WeakMap<Buffer, Promise<Sha256>>>();

/**
 * Signature and signer's certificate are evidence before the event that names them; a certificate goes there once,
 * until it changes.
 */
async function keepSignature(
  context: TaskContext,
  account: string,
  signature: Buffer,
): Promise<{ signatureSha256: Sha256; certificateSha256: Sha256 }> {
  const certificate = context.registry.signerCertificate(account, signature);
  if (certificate === undefined) throw new Error(`the signature of account ${account} came without a certificate`);
  const known = certificates.get(context) ?? new WeakMap<Buffer, Promise<Sha256>>();
  certificates.set(context, known);
  const digest = known.get(certificate) ?? context.evidence.put(certificate, 'application/pkix-cert');
  known.set(certificate, digest);
  digest.catch(() => known.delete(certificate));
  const [signatureSha256, certificateSha256] = await Promise.all([
    context.evidence.put(signature, 'application/pkcs7-signature'),
    digest,
  ]);
  return { signatureSha256, certificateSha256 };
}
