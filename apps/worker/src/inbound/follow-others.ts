import type { DocumentState, FoundDocuments, InboundSeen } from '#domain';
import type { DocumentMetadata } from '#registry-client';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim } from '../lane.js';
import type { TaskContext } from '../registry-tasks/context.js';
import { toInbound } from './context.js';
import { listedAs, seenOf } from './seen.js';

interface Copies {
  requestId: string;
  /** How the document of ours stands. */
  state: DocumentState;
  /** All that the registry has shown under its request_id. */
  shown: InboundSeen['data'][];
  candidates?: Candidate[];
}

/**
 * Of several documents under one request_id of ours one is followed as ours (principles 2.2). Each of the others is
 * followed like one that went past this system: what the registry accepts of it happens to its packs. Nothing follows
 * while it is not known which one is ours; one that became ours after it was followed like that counts as ours alone.
 */
export async function followOthers(
  context: TaskContext,
  task: Claim,
  { requestId, state, shown, candidates }: Copies,
): Promise<void> {
  const ours = knownIdOf(state);
  if (ours === undefined) return;
  for (const seen of shown) {
    const about = { ...task, payload: { documentId: seen.documentId } };
    if (seen.documentId === ours) await toInbound(context, about, { type: 'Recognise', requestId });
    else await toInbound(context, about, { type: 'See', seen, ...(candidates === undefined ? {} : { candidates }) });
  }
}

/** The registry's id of a document of ours, where it is known. */
export const knownIdOf = (state: DocumentState): string | undefined =>
  'documentId' in state ? state.documentId : undefined;

/** The same for those that a look-up has shown. */
export async function followOthersFound(
  context: TaskContext,
  task: Claim & { payload: { account: string; requestId: string } },
  { state, found, answer }: { state: DocumentState; found: DocumentMetadata[]; answer: Candidate },
): Promise<void> {
  const { account, requestId } = task.payload;
  const shown = found.flatMap((document) => {
    const row = listedAs(document, { account, list: 'outgoing' });
    return row === undefined ? [] : [seenOf(context.profile, { row, document, answerSha256: answer.sha256 })];
  });
  await followOthers(context, task, { requestId, state, shown, candidates: [answer] });
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
