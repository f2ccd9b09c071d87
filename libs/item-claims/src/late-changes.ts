import { readToldContent, type ContainerContentObserved, type DocumentConcluded, type InboundConcluded } from '#domain';
import type { Transaction } from '#postgres';
import { changeByItems } from './containment.js';
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

/** What the document did to containment. It is read once more. */
export async function changeBy(data: DocumentConcluded['data'], on: Reading): Promise<void> {
  const { documentSha256 } = data;
  await apply(await readOne(documentSha256, on, (xml) => on.documents.readDocument(xml, documentSha256)), data, on);
}

export async function changeByOthers(data: InboundConcluded['data'], on: Reading): Promise<void> {
  const { documentSha256, outcome, again } = data;
  if (documentSha256 === undefined) return;
  const named = await readOne(documentSha256, on, (xml) => on.documents.readForeignDocument(xml));
  await apply(named, { outcome, isLate: again === true }, on);
}

/**
 * What the registry told of a container that came to us. It is as new as the event: what documents said of these packs
 * before was told to the registry as well.
 */
export async function changeByContent({ contentSha256 }: ContainerContentObserved['data'], on: Reading): Promise<void> {
  const content = await readEvidence(contentSha256, on, readToldContent);
  const items = content?.items.map(({ id, into }) => ({ item: id, parent: into })) ?? [];
  await changeByItems(on.tx, { change: 'packed', items }, false);
}

async function apply(
  named: NamedItems | undefined,
  { outcome, isLate = false }: { outcome: string; isLate?: boolean },
  { tx }: Reading,
): Promise<void> {
  if (named?.change !== undefined && isApplied({ outcome }, named.change)) await changeByItems(tx, named, isLate);
}
