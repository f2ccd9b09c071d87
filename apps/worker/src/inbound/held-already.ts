import { ourOf, type DocumentState } from '#domain';
import type { TaskOf } from '../lane.js';
import type { Checked } from '../registry-tasks/attempt.js';
import { byRegistry, candidateOf, type TaskContext } from '../registry-tasks/context.js';
import { toInbound } from './context.js';
import { followOthersFound, foundDocuments } from './follow-others.js';

type Shown = Awaited<ReturnType<TaskContext['registry']['findByRequestId']>>;
type Found = Extract<Shown, { kind: 'ok' }>;

const LIST_FIRST_MS = 500;
const ASK_AGAIN_MS = 5_000;
/** How long the list is waited for, from a process's first send on. */
const LIST_PATIENCE_MS = 120_000;

/**
 * Before an attempt: does the registry hold the document's request_id already? So it is after the restore of an older
 * backup, when the ERP gives its messages again, or where an attempt that counted as absent has landed since. Such a
 * document is recorded as sent, found by look-up, and not sent again (principles 2.2). Undefined when it may go.
 */
export async function heldAlready(
  context: TaskContext,
  task: TaskOf<'send'>,
  { byteLength }: { byteLength: number },
): Promise<Checked<never> | undefined> {
  const { requestId } = task.payload;
  const { held } = context;
  if (held === undefined) return undefined;
  const isFirst = isFirstHere(context, task);
  // What was announced may be gone again, and a list that has shown it says nothing then.
  if (!isFirst && byteLength > context.profile.rules.maxDocumentBytes) return undefined;
  const list = isFirst ? await held.outgoingSince(task.payload.account) : 'read';
  const isInTime = context.clock.monotonicMs() - held.firstAskedMs(context.clock) < LIST_PATIENCE_MS;
  if (list === 'unread' && isInTime) return again(LIST_FIRST_MS, 'the outgoing list is read first');
  const isListed = (await held.outgoingIdOf(requestId)) !== undefined;
  if (list === 'read' && !isListed) return undefined;
  return lookedUp(context, task, { isListed, isGiven: list !== 'not_given', byteLength });
}

/** Its first attempt; or one that looks open in a restored database, and may have been made since its backup. */
const isFirstHere = ({ restored }: TaskContext, { payload: { attempt } }: TaskOf<'send'>): boolean =>
  attempt === 1 || restored?.was === true;

/** What the registry itself says of the request_id. */
async function lookedUp(
  context: TaskContext,
  task: TaskOf<'send'>,
  { isListed, isGiven, byteLength }: { isListed: boolean; isGiven: boolean; byteLength: number },
): Promise<Checked<never> | undefined> {
  const { requestId, account } = task.payload;
  const found = await context.registry.findByRequestId(account, requestId);
  // A list that is not to be had must not hold up everything: then each document is asked for by itself.
  if (!isListed && mayGo(found, isGiven)) return undefined;
  if (found.kind !== 'ok' || found.value.length === 0) {
    // The list has shown it, so it is there: nothing is sent while the registry does not say the same.
    const error =
      `${isListed ? 'a list has shown' : 'no list can be read for'} ${requestId}, and its look-up says ` +
      `${found.kind === 'ok' ? 'nothing' : found.kind}`;
    return again(ASK_AGAIN_MS, error);
  }
  const state = await recordFound(context, task, { found, byteLength });
  // Another process has recorded the intent meanwhile: what it sent is looked up as after any unknown outcome.
  return state.phase === 'sending' ? { doubt: true } : { wait: { kind: 'done' } };
}

/** It is not there; or neither list nor look-up is for this user, who would wait for ever. */
function mayGo(found: Shown, isGiven: boolean): boolean {
  if (found.kind === 'ok') return found.value.length === 0;
  return found.kind === 'not_found' || (!isGiven && found.kind === 'refused' && found.mayBeOthers !== true);
}

const again = (delayMs: number, error: string): Checked<never> => ({
  wait: { kind: 'retry', delayMs, error, countsAsAttempt: false },
});

async function recordFound(
  context: TaskContext,
  task: TaskOf<'send'>,
  { found, byteLength }: { found: Found; byteLength: number },
): Promise<DocumentState> {
  const { requestId, attempt } = task.payload;
  const answer = candidateOf(context, found.raw);
  // A large one may have been announced, and its bytes not have been uploaded.
  const isLarge = byteLength > context.profile.rules.maxDocumentBytes;
  const { uploading, ...shown } = foundDocuments(found.value);
  const documents = { ...shown, ...(isLarge ? { uploading } : {}) };
  // First it ends to count as a document of others, so that it never counts twice.
  const documentId = ourOf(documents);
  if (documentId !== undefined)
    await toInbound(context, { ...task, payload: { documentId } }, { type: 'Recognise', requestId });
  const { state } = await byRegistry(context, task, {
    type: 'RecordLookUp',
    attempt,
    ...documents,
    sinceAttemptEndedMs: 0,
    unknownGraceMs: 0,
    answerSha256: answer.sha256,
    candidates: [answer],
  });
  await followOthersFound(context, task, { state, found: found.value, answer });
  return state;
}
