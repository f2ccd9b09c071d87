import { documentStream, groupStream, type Registration } from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Conclusion, DocumentReading } from '../sgtin-history/movements.js';
import { historyOf } from './history.js';
import { conclusionItems, ItemsByResult } from './items.js';
import { ENDS_SPLIT, endsSplit, groupOf, type ReadParts } from './split.js';

export interface PartsOptions {
  store: Pick<EventStore, 'readStream'>;
  evidence: EvidenceStore;
  documents: DocumentReading;
  groupId: string;
  parts: Registration[];
  /** Log position: nothing that came later is told. */
  upTo: bigint;
}

/** Reads the parts one after the other: together they are as large as the document was. */
export async function readParts(options: PartsOptions): Promise<ReadParts> {
  const items = new ItemsByResult();
  const histories = await historiesOf(options);
  for (const { conclusion } of histories)
    items.add(await conclusionItems(conclusion, options.evidence, options.documents));
  return {
    conclusions: histories.map((one) => one.conclusion),
    items: items.told(options.groupId),
    duplicate: histories.some((one) => one.duplicate),
  };
}

async function historiesOf({
  store,
  groupId,
  parts,
  upTo,
}: Pick<PartsOptions, 'store' | 'groupId' | 'parts' | 'upTo'>): Promise<
  { conclusion: Conclusion; duplicate: boolean }[]
> {
  const histories = [];
  for (const { requestId } of parts) {
    const history = await historyOf(store, documentStream(requestId), upTo);
    const conclusion = history.filter(isConclusion).at(-1);
    if (conclusion === undefined)
      throw new Error(`group ${groupId} concluded at or before position ${upTo}, and its part ${requestId} did not`);
    histories.push({ conclusion, duplicate: history.some((event) => event.type === 'DuplicateDetected') });
  }
  return histories;
}

/**
 * The conclusions under a request_id, and the position at which they were told: one of a document, those of its parts
 * where it was split; undefined before its end.
 */
export async function conclusionsOf(
  store: Pick<EventStore, 'readStream'>,
  requestId: string,
  toldAt?: bigint,
): Promise<{ position: bigint; conclusions: Conclusion[] } | undefined> {
  const own = (await historyOf(store, documentStream(requestId))).filter(isConclusion);
  const conclusion = toldAt === undefined ? own.at(-1) : own.find((event) => event.position === toldAt);
  if (conclusion !== undefined) return { position: conclusion.position, conclusions: [conclusion] };
  const group = await historyOf(store, groupStream(requestId));
  const ends = group.filter(
    (event, i) =>
      (toldAt === undefined || event.position === toldAt) &&
      ENDS_SPLIT.includes(event.type) &&
      endsSplit(groupOf(group.slice(0, i + 1))),
  );
  const end = ends.at(-1);
  if (end === undefined) return undefined;
  const { registration } = groupOf(group).state;
  const histories = await historiesOf({ store, groupId: requestId, parts: registration.members, upTo: end.position });
  return { position: end.position, conclusions: histories.map((one) => one.conclusion) };
}

export const isConclusion = (event: RecordedEvent): event is Conclusion =>
  event.type === 'DocumentConcluded' || event.type === 'ConclusionRevised';
