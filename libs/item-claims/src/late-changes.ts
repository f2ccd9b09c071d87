import { readToldContent, type ContainerContentObserved, type DocumentConcluded, type InboundConcluded } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import { inboundOrder } from '#read-models';
import { changeByItems, type Instant } from './containment.js';
import { changesContainment, isApplied, type NamedItems } from './named-items.js';
import { readEvidence, readOne, type ItemClaimsParts } from './read-page.js';

type Reading = Pick<ItemClaimsParts, 'evidence' | 'documents'> & { tx: Transaction };

/** Whether the end of a document of ours that claims nothing here may have changed containment. */
export const mayChange = ({ outcome, docType }: DocumentConcluded['data']): boolean =>
  (outcome === 'accepted' || outcome === 'partial') && changesContainment(docType);

/** The same for a document of others. */
export const mayChangeByOthers = ({
  outcome,
  documentSha256,
  docType,
  isReadable,
}: InboundConcluded['data']): boolean =>
  (outcome === 'accepted' || outcome === 'partial') &&
  documentSha256 !== undefined &&
  isReadable &&
  docType !== undefined &&
  changesContainment(docType);

/**
 * When the registry accepted it, as far as that is told, and never after the log heard of it. What follows from a
 * receipt is effective when that says, so `effectiveAt` bounds nothing. As it was told: a Date has no microseconds, and
 * two may be accepted in one millisecond.
 */
export const acceptedBy = (
  acceptedAt: string | undefined,
  { recordedAt }: Pick<RecordedEvent, 'recordedAt'>,
): Instant =>
  acceptedAt !== undefined && Date.parse(acceptedAt) < recordedAt.getTime() ? acceptedAt : recordedAt.toISOString();

/** What the document did to containment. It is read once more. */
export async function changeBy(data: DocumentConcluded['data'], at: Instant, on: Reading): Promise<void> {
  const { documentSha256 } = data;
  const named = await readOne(documentSha256, on, (xml) => on.documents.readDocument(xml, documentSha256));
  await apply(named, data.outcome, { at, tx: on.tx });
}

export async function changeByOthers(event: RecordedEvent & InboundConcluded, on: Reading): Promise<void> {
  const { documentSha256, outcome } = event.data;
  if (documentSha256 === undefined) return;
  const named = await readOne(documentSha256, on, (xml) => on.documents.readForeignDocument(xml));
  await apply(named, outcome, { at: acceptedBy(inboundOrder(event), event), tx: on.tx });
}

/**
 * What the registry told of a container that came to us. It is as new as the answer: what documents said of these packs
 * before was told to the registry as well.
 */
export async function changeByContent(event: RecordedEvent & ContainerContentObserved, on: Reading): Promise<void> {
  const content = await readEvidence(event.data.contentSha256, on, readToldContent);
  const items = content?.items.map(({ id, into }) => ({ item: id, parent: into })) ?? [];
  await changeByItems(on.tx, { change: 'packed', items }, acceptedBy(event.data.fetchedAt, event));
}

async function apply(
  named: NamedItems | undefined,
  outcome: string,
  { at, tx }: { at: Instant; tx: Transaction },
): Promise<void> {
  if (named?.change !== undefined && isApplied({ outcome }, named.change)) await changeByItems(tx, named, at);
}
