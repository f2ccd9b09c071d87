import type { InboundState, LinkedBy } from '#domain';
import { readForeignDocument } from '#documents';
import { backoffMs, canonicalUuid } from '#kernel';
import { ownDocumentSharing } from '#read-models';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { toInbound, type InboundContext } from './context.js';

/**
 * Documents of ours that a notification can tell of (public-facts 2.5). A 601 or 602 begins something new, and belongs
 * to none.
 */
const TOLD_OF: Readonly<Record<number, number[]>> = { 605: [416], 606: [415, 417], 607: [415, 416, 417], 617: [416] };
/**
 * Our document may not have concluded yet, as far as we know: it is looked for again, each time after twice as long,
 * for about ten minutes.
 */
const TRIES = 8;
const FIRST_AGAIN_MS = 5_000;
/**
 * Then for as long as one that it could belong to is under way, for which the registry may take days, or the history of
 * packs is behind: each look compares all its packs, and a rebuild takes hours.
 */
const UNDER_WAY_MS = 10 * 60_000;
/** A history of packs that is behind the event that asks is looked at again after so long. */
const CATCH_UP_MS = 1_000;

/**
 * Ties an incoming document to the document of ours that it tells of (registry-interface 6), and says how that was
 * found.
 */
export async function linkInbound(context: InboundContext, task: TaskOf<'inbound_link'>): Promise<TaskResult> {
  const state = await context.inbound.stateInLog(task.payload.documentId);
  if (state.phase !== 'concluded' || state.link !== undefined) return { kind: 'done' };
  const recordedAt = positionOf(task);
  const named = await byName(context, state);
  const byPacks = named === undefined ? await byItems(context, state, recordedAt) : undefined;
  if (byPacks !== undefined && byPacks.upTo < recordedAt)
    return whenCaughtUp('the event that asks for the link', CATCH_UP_MS);
  const found = named ?? byPacks?.found;
  if (found !== undefined) await toInbound(context, task, { type: 'Link', ...found, bySystem: true });
  if (found !== undefined || !mayBelong(state)) return { kind: 'done' };
  return lookAgain(context, task, byPacks);
}

const whenCaughtUp = (what: string, delayMs: number): TaskResult => ({
  kind: 'retry',
  delayMs,
  error: `the history of packs is behind ${what}`,
  countsAsAttempt: false,
});

function lookAgain(
  { profile }: InboundContext,
  { attempts }: TaskOf<'inbound_link'>,
  { isOpen, isBehind }: Pick<SharedByItems, 'isOpen' | 'isBehind'> = { isOpen: false, isBehind: false },
): TaskResult {
  const error = 'no document of ours that it could belong to is known yet';
  const firstMs = Math.min(FIRST_AGAIN_MS, profile.rules.listPollMs);
  if (attempts < TRIES) return { kind: 'retry', delayMs: backoffMs(attempts, { firstMs }), error };
  if (isOpen) return { kind: 'retry', delayMs: UNDER_WAY_MS, error, countsAsAttempt: false };
  // One that is open no more may have ended well, and its packs be told in a moment.
  return isBehind ? whenCaughtUp('the ends of documents', UNDER_WAY_MS) : { kind: 'done' };
}

const positionOf = ({ payload: { plannedAt = '0' } }: TaskOf<'inbound_link'>): bigint => BigInt(plannedAt);

type Concluded = Extract<InboundState, { phase: 'concluded' }>;
interface SharedByItems {
  upTo: bigint;
  isOpen: boolean;
  isBehind: boolean;
  found: Found | undefined;
}
type Found = { requestId: string; by: LinkedBy; sharedItems?: number };

const mayBelong = ({ content, seen }: Concluded): boolean =>
  TOLD_OF[content?.docType ?? seen.docType ?? 0] !== undefined;

/**
 * By the ids that it names: its own request_id, or the one that its envelope refers to. Each may be either id of a
 * document (public-facts 2.5).
 */
async function byName(context: InboundContext, { seen, content }: Concluded): Promise<Found | undefined> {
  const names = [[seen.requestId, 'request_id'] as const, [content?.originalId, 'original_id'] as const];
  for (const [name, by] of names) {
    if (name === undefined || name === '') continue;
    for (const requestId of [canonicalUuid(name), await context.held.requestIdOf(name)])
      if (requestId !== undefined && (await isOurs(context, requestId))) return { requestId, by };
  }
  return undefined;
}

const isOurs = async (context: InboundContext, requestId: string): Promise<boolean> =>
  (await context.documents.stateInLog(requestId)).phase !== 'absent';

/**
 * A notification carries the id of the other side's document, which we never saw: then places and packs tell. What we
 * sent goes the other way. Undefined where they cannot tell. `upTo` is how far in the log they have been read.
 */
async function byItems(
  context: InboundContext,
  { seen, content, documentSha256 }: Concluded,
  recordedAt: bigint,
): Promise<SharedByItems | undefined> {
  const docTypes = TOLD_OF[content?.docType ?? 0];
  if (docTypes === undefined || content?.counterpartyId === undefined || documentSha256 === undefined) return undefined;
  const document = await context.evidence.get(documentSha256);
  if (document === undefined) throw new Error(`evidence ${documentSha256} is missing`);
  const items = readForeignDocument(document.bytes).items.map((item) => item.id);
  const { found, ...stands } = await ownDocumentSharing(context.pool, {
    ...{ items, toldAt: seen.receivedAt, recordedAt },
    docTypes,
    subjectId: content.counterpartyId,
    counterpartyId: content.subjectId,
  });
  return { ...stands, found: found && { ...found, by: 'items' } };
}
