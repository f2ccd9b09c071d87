import {
  believesOthers,
  gateHoldsIn,
  isPlannedBeforeHold,
  isToSend,
  SEND_POLICY,
  type DocumentState,
  type SendAnswer,
  type SignedBy,
  type ToSend,
} from '#domain';
import { defined, PedigreeError, type Sha256 } from '#kernel';
import type { DocumentToSend } from '#registry-client';
import type { HandlerContext, TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { heldAlready } from '../inbound/held-already.js';
import { callOnce, hear, type Checked, type Heard } from './attempt.js';
import { bySystem, byRegistry, keptInMemory, type TaskContext } from './context.js';
import { passGate } from './gate.js';
import { passStop, passStopAgain, type JudgedAt } from './suspension-stop.js';

/** How long a document rests that could not be signed. */
const SIGN_AGAIN_AFTER_MS = 10_000;

/** What is sent, and what the intent says of it. */
interface Sending {
  document: Omit<DocumentToSend, 'notAfterMonotonicMs'>;
  intent: SignedBy & { upload?: true; suspensionsKnownAt?: string };
  judgedAt: JudgedAt | undefined;
}

/**
 * Sends one document once (attempt.ts). Of a document above the registry's limit the call only announces it; its bytes
 * go up by another task (upload.ts).
 */
export async function send(context: TaskContext, task: TaskOf<'send'>, by: HandlerContext): Promise<TaskResult> {
  const { requestId, account, attempt } = task.payload;
  const gateHolds = gateHoldsIn(task.key);
  const remembered = await context.documents.state(requestId);
  // Only to go ahead may memory be old: the log refuses an intent that does not follow from it.
  const isAhead = remembered.phase === 'ready' && remembered.send.attempt === attempt;
  const state = isAhead ? remembered : await context.documents.stateInLog(requestId);
  if (!isToSend(state)) return { kind: 'done' };
  return callOnce<DocumentState, Sending, SendAnswer>(context, state, {
    account,
    attempt,
    heldUntilMs: by.heldUntilMs,
    did: 'sent it',
    attemptIn: (now) => (isToSend(now) && !isPlannedBeforeHold(now, gateHolds) ? now.send : undefined),
    check: () => checkDocument(context, task, state),
    sign: (sending) => signAndJudge(context, task, { sending, state }),
    begin: (sending) => bySystem(context, task, { type: 'BeginSend', gateHolds, ...sending?.intent }),
    call: ({ document, intent }, notAfterMonotonicMs) =>
      (intent.upload === true ? announce : sendWhole)(context, task, {
        document: { ...document, notAfterMonotonicMs },
        believesOthers: believesOthers(SEND_POLICY, state.send),
      }),
    record: (answer, candidates) => {
      const said = { type: 'RecordSendAnswer', attempt, answer } as const;
      return candidates === undefined
        ? bySystem(context, task, said)
        : byRegistry(context, task, { ...said, candidates });
    },
  });
}

/** Whether the registry has it already; whether its packs let it go; then its bytes, which the registry must take. */
async function checkDocument(context: TaskContext, task: TaskOf<'send'>, state: ToSend): Promise<Checked<Sending>> {
  const { requestId, documentSha256, byteLength, group } = state.registration;
  const alreadyHeld = await heldAlready(context, task, { byteLength });
  if (alreadyHeld !== undefined) return alreadyHeld;
  const stopped = await passGate(context, task, state);
  if (stopped !== undefined) return { wait: stopped };
  const passed = await passStop(context, task, state);
  if ('stopped' in passed) return { wait: passed.stopped };
  const blob = await context.evidence.get(documentSha256);
  const { maxDocumentBytes, maxLargeDocumentBytes } = context.profile.rules;
  if (blob === undefined) return failed(`evidence ${documentSha256} of document ${requestId} is missing`);
  const { bytes: xml } = blob;
  if (xml.length > maxLargeDocumentBytes)
    return failed(`document ${requestId} has ${xml.length} bytes; the registry takes ${maxLargeDocumentBytes}`);
  const bulk = group === undefined ? {} : { bulkProcessing: true };
  return {
    ready: {
      document: { xml, requestId, signature: undefined, ...bulk },
      intent: xml.length > maxDocumentBytes ? { upload: true } : {},
      judgedAt: passed.judgedAt,
    },
  };
}

const failed = (error: string): { wait: TaskResult } => ({ wait: { kind: 'failed', error } });

/** What was suspended while it was signed still stops it: only the append of its intent comes after that. */
async function signAndJudge(
  context: TaskContext,
  task: TaskOf<'send'>,
  { sending, state }: { sending: Sending; state: ToSend },
): Promise<{ ready: Sending } | { wait: TaskResult }> {
  const signed = await sign(context, task, sending);
  if ('wait' in signed) return signed;
  const { ready } = signed;
  const passed = await passStopAgain(context, task, { ...state, judgedAt: ready.judgedAt });
  if ('stopped' in passed) return { wait: passed.stopped };
  const suspensionsKnownAt = passed.judgedAt?.knownAt.toString();
  return { ready: { ...ready, intent: { ...ready.intent, ...defined({ suspensionsKnownAt }) } } };
}

/**
 * A signer that is away, or a certificate that has ended, says nothing against the document: it waits, however long
 * that takes.
 */
async function sign(
  context: TaskContext,
  task: TaskOf<'send'>,
  { document, intent, judgedAt }: Sending,
): Promise<{ ready: Sending } | { wait: TaskResult }> {
  const { account } = task.payload;
  let signature: Buffer | undefined;
  try {
    signature = await context.registry.sign(account, document.xml);
  } catch (error) {
    if (error instanceof PedigreeError && error.code === 'signing_failed')
      return { wait: await unsigned(context, task, error) };
    throw error;
  }
  const signed = signature === undefined ? {} : await keepSignature(context, account, signature);
  return { ready: { document: { ...document, signature }, intent: { ...signed, ...intent }, judgedAt } };
}

/**
 * One document after the other would ask a signer that is away: the whole account rests. One that signs with another
 * certificate is for a person.
 */
async function unsigned(
  context: TaskContext,
  task: TaskOf<'send'>,
  { message, place }: PedigreeError,
): Promise<TaskResult> {
  const { account } = task.payload;
  context.gates.rest(account, SIGN_AGAIN_AFTER_MS);
  if (place.field === 'certificate')
    await context.gates.pauseBySystem(
      account,
      { cause: 'certificate', code: 'signed_by_another', text: message },
      task.key,
    );
  return { kind: 'retry', delayMs: SIGN_AGAIN_AFTER_MS, error: message, countsAsAttempt: false };
}

interface SendCall {
  document: DocumentToSend;
  believesOthers: boolean;
}

async function sendWhole(
  context: TaskContext,
  task: TaskOf<'send'>,
  { document, ...said }: SendCall,
): Promise<Heard<SendAnswer>> {
  const { account, requestId, attempt } = task.payload;
  const outcome = await context.registry.sendDocument(account, document);
  return hear(context, task, {
    account,
    requestId,
    attempt,
    operation: 'send',
    outcome,
    ...said,
    done: ({ documentId }, bytes) => ({
      answer: { kind: 'sent' as const, documentId, answerSha256: bytes.sha256 },
      candidates: [bytes],
    }),
  });
}

/** Where the bytes go is kept before the event that says that they may go. The answer, which says it too, is not. */
async function announce(
  context: TaskContext,
  task: TaskOf<'send'>,
  { document, ...said }: SendCall,
): Promise<Heard<SendAnswer>> {
  const { account, requestId, attempt } = task.payload;
  const outcome = await context.largeDocuments.step(account, document, { next: 'announce' });
  return hear(context, task, {
    account,
    requestId,
    attempt,
    operation: 'send_large',
    outcome,
    ...said,
    done: async (at) => {
      if (at.next !== 'upload') throw new Error(`document ${requestId} was announced, and then comes ${at.next}`);
      const { documentId, link } = at;
      await context.uploadLinks.keep(requestId, { documentId, link, uploadedBytes: 0 });
      return { answer: { kind: 'announced' as const, documentId }, candidates: [] };
    },
  });
}

/** Digests of certificates and chains that are in the evidence, by the Buffer in which the client hands them out. */
const digestsIn = keptInMemory(() => new WeakMap<Buffer, Promise<Sha256>>());

/** Puts what is the same for many documents into the evidence once, until it changes. */
function keepOnce(context: TaskContext, bytes: Buffer, mediaType: string): Promise<Sha256> {
  const known = digestsIn(context);
  const digest = known.get(bytes) ?? context.evidence.put(bytes, mediaType);
  known.set(bytes, digest);
  digest.catch(() => known.delete(bytes));
  return digest;
}

/** Signature, signer's certificate and its chain are evidence before the event that names them. */
async function keepSignature(context: TaskContext, account: string, signature: Buffer): Promise<SignedBy> {
  const { registry, evidence, clock } = context;
  const signedAt = clock.now().toISOString();
  const certificate = registry.signerCertificate(account, signature);
  const chain = registry.signerChain(account, signature);
  if (certificate === undefined || chain === undefined)
    throw new Error(`the signature of account ${account} came without a certificate`);
  const [signatureSha256, certificateSha256, chainSha256] = await Promise.all([
    evidence.put(signature, 'application/pkcs7-signature'),
    keepOnce(context, certificate, 'application/pkix-cert'),
    keepOnce(context, chain, 'application/pem-certificate-chain'),
  ]);
  const source = clock.source?.() ?? { source: 'machine' as const };
  return { signatureSha256, certificateSha256, chainSha256, signedAt, clock: source };
}
