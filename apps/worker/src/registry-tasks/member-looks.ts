import type { Member } from '#domain';
import type { DocumentMetadata } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { Claim, TaskOf } from '../lane.js';
import { candidateOf, keptInMemory, lookTenthLater, memberCommand, type TaskContext } from './context.js';
import { someOf } from './status.js';

/** How soon members that are not settled are looked at again: a member's send may still be open. */
const AGAIN_FIRST_MS = 2_000;

/** `absent`: the registry knows nothing of it, so it is untouched. */
export type Seen = Map<string, { status: DocumentMetadata['status'] | 'absent'; answer: Candidate }>;

/**
 * What the outgoing list says of these members now, a page at a time. Where it cannot be read, what the registry says
 * of some of them, one by one; in words, why nothing could be read.
 */
export async function statusesOf(context: TaskContext, account: string, members: Member[]): Promise<Seen | string> {
  const seen: Seen = new Map();
  const ids = members.flatMap((one) => (one.documentId === undefined ? [] : [one.documentId]));
  const pageSize = context.profile.operations.list_outgoing.pageSize ?? 100;
  for (let from = 0; from < ids.length; from += pageSize) {
    const documentIds = ids.slice(from, from + pageSize);
    const outcome = await context.registry.listOutgoing(account, { documentIds, limit: documentIds.length });
    if (outcome.kind !== 'ok') {
      for (const documentId of someOf(context, documentIds)) await seeAlone(context, account, { documentId, seen });
      return seen.size === 0 ? `outgoing list: ${outcome.kind}` : seen;
    }
    const answer = candidateOf(context, outcome.raw);
    for (const { documentId, status } of outcome.value.documents) {
      seen.set(documentId, { status, answer });
      missingSince(context).delete(documentId);
    }
  }
  return seen;
}

/** The list may leave documents out for ever; all were sent 3 s ago or more, so the status of some may be asked for. */
export async function seeSomeAlone(
  context: TaskContext,
  account: string,
  { members, seen }: { members: Member[]; seen: Seen },
): Promise<void> {
  const absent = members.flatMap(({ documentId }) =>
    documentId === undefined || seen.has(documentId) ? [] : [documentId],
  );
  for (const documentId of someOf(context, absent)) await seeAlone(context, account, { documentId, seen });
}

async function seeAlone(
  context: TaskContext,
  account: string,
  { documentId, seen }: { documentId: string; seen: Seen },
): Promise<void> {
  const outcome = await context.registry.documentStatus(account, documentId);
  if (outcome.kind === 'ok') {
    seen.set(documentId, { status: outcome.value.status, answer: candidateOf(context, outcome.raw) });
    missingSince(context).delete(documentId);
  } else if (outcome.kind === 'not_found' && isAbsent(context, documentId))
    seen.set(documentId, { status: 'absent', answer: candidateOf(context, outcome.raw) });
}

interface Missing {
  since: number;
  /** It was missing before too, and that for as long as proves that a send did not arrive (principles 6.8). */
  isProven: boolean;
}

/** Since when the registry says of a document that it does not know it. A process that begins anew asks anew. */
const missingSince = keptInMemory(() => new Map<string, Missing>());

function isAbsent(context: TaskContext, documentId: string): boolean {
  const nowMs = context.clock.monotonicMs();
  const before = missingSince(context).get(documentId);
  const { since } = before ?? { since: nowMs };
  const isProven = before !== undefined && nowMs - since >= context.profile.rules.unknownGraceMs;
  missingSince(context).set(documentId, { since, isProven });
  return isProven;
}

/** The registry has said again and again, for as long as proves it, that it does not know this document. */
export const isProvenAbsent = (context: TaskContext, { documentId = '' }: Member): boolean =>
  missingSince(context).get(documentId)?.isProven === true;

export const hasEnded = (seen: Seen, member: Member): boolean =>
  hasReceipt(seen, member) || seen.get(member.documentId ?? '')?.status === 'failed';

/** A receipt of it can be had. */
export function hasReceipt(seen: Seen, { documentId = '' }: Member): boolean {
  const status = seen.get(documentId)?.status;
  return status === 'processed' || status === 'failed_result_ready';
}

/**
 * Some registries show what waits for the start of its group as in work: what can still be started is not. Only what
 * shows so is asked about: of what the registry does not know it would say no for ever.
 */
export async function mayBeInWork(
  context: TaskContext,
  account: string,
  { members, seen }: { members: Member[]; seen: Seen },
): Promise<boolean> {
  const inWork = members.filter(({ documentId = '' }) => seen.get(documentId)?.status === 'processing');
  if (inWork.length === 0) return false;
  const requestIds = inWork.map((one) => one.requestId);
  const check = await context.bulk.check(account, requestIds);
  return check.kind !== 'ok' || !check.value.canStart;
}

/** What the registry shows of a member becomes its status. */
export async function observe(
  context: TaskContext,
  task: Claim,
  { member, seen }: { member: Member; seen: Seen },
): Promise<void> {
  const { status, answer } = seen.get(member.documentId ?? '') ?? {};
  if (answer === undefined || status === undefined || status === 'absent') return;
  await memberCommand(context, task, {
    requestId: member.requestId,
    by: 'registry',
    command: { type: 'ObserveStatus', status, answerSha256: answer.sha256 },
    candidates: [answer],
  });
}

/** The longer the group is halted, the less often: what is in work by its registry may be so for long. */
export function again(
  context: TaskContext,
  task: TaskOf<'conclude_members'> | TaskOf<'settle_group'>,
  error: string,
): TaskResult {
  // A task of before does not say since when: that is looked at as if it had just halted.
  const { haltedAt: since = task.claimedAt.toISOString() } = task.payload;
  const firstMs = Math.max(AGAIN_FIRST_MS, context.profile.rules.statusPollMs);
  return lookTenthLater(task, { since, firstMs, error });
}
