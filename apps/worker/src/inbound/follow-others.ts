import type { DocumentState, FoundDocuments, InboundSeen } from '#domain';
import type { DocumentMetadata } from '#registry-client';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim } from '../lane.js';
import type { TaskContext } from '../registry-tasks/context.js';
import { toInbound } from './context.js';
import { listedAs, seenOf } from './seen.js';

/**
 * Of several documents under one request_id of ours one is followed as ours (principles 2.2). Each of the others is
 * followed like one that went past this system: what the registry accepts of it happens to its packs. False while it is
 * not known which one is ours.
 */
export async function followOthers(
  context: TaskContext,
  task: Claim,
  { state, others, candidates }: { state: DocumentState; others: InboundSeen['data'][]; candidates?: Candidate[] },
): Promise<boolean> {
  const ours = 'documentId' in state ? state.documentId : undefined;
  if (ours === undefined) return false;
  for (const seen of others.filter(({ documentId }) => documentId !== ours)) {
    const about = { ...task, payload: { documentId: seen.documentId } };
    await toInbound(context, about, { type: 'See', seen, ...(candidates === undefined ? {} : { candidates }) });
  }
  return true;
}

/** The same for those that a look-up has shown. */
export async function followOthersFound(
  context: TaskContext,
  task: Claim & { payload: { account: string } },
  { state, found, answer }: { state: DocumentState; found: DocumentMetadata[]; answer: Candidate },
): Promise<void> {
  if (found.length === 0) return;
  const { account } = task.payload;
  const others = found.flatMap((document) => {
    const row = listedAs(document, { account, list: 'outgoing' });
    return row === undefined ? [] : [seenOf(context.profile, { row, document, answerSha256: answer.sha256 })];
  });
  await followOthers(context, task, { state, others, candidates: [answer] });
}

/** What a look-up says of each document that it shows. */
export const foundDocuments = (found: DocumentMetadata[]): Required<FoundDocuments> => {
  const idsOf = (isMeant: (one: DocumentMetadata) => boolean) => found.filter(isMeant).map((one) => one.documentId);
  return {
    documentIds: idsOf(() => true),
    uploading: idsOf(({ status }) => status === 'uploading'),
    failed: idsOf(({ status }) => status === 'failed' || status === 'failed_result_ready'),
  };
};
