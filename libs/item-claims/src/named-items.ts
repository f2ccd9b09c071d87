import { documentTypeOf, typeKnowledge, type DocumentFacts } from '#documents';

/** What a document does to containment, if it is accepted. */
export type ContainmentChange = 'packed' | 'taken_out' | 'opened' | 'opened_all';

/** The items of a document, as far as claims are concerned. */
export interface NamedItems {
  /** `parent`: the container that the item goes into. */
  items: { item: string; parent: string | undefined }[];
  change: ContainmentChange | undefined;
}

/** Pure. An item that a document names twice counts once, with its last container. */
export function namedItemsOf(facts: DocumentFacts): NamedItems {
  const change = changeOf(facts);
  const parents = new Map(facts.items.map(({ id, into }) => [id, into]));
  return { items: [...parents].map(([item, parent]) => ({ item, parent })), change };
}

function changeOf({ docType, fields }: DocumentFacts): ContainmentChange | undefined {
  const effect = documentTypeOf(docType)?.effect;
  if (effect === undefined || typeof effect === 'string') return undefined;
  return effect.containment === 'opened' && typeKnowledge.opensAll(fields) ? 'opened_all' : effect.containment;
}

/** Whether a document of this type changes containment at all: only then it is worth reading. */
export function changesContainment(docType: number): boolean {
  const effect = documentTypeOf(docType)?.effect;
  return effect !== undefined && typeof effect !== 'string' && effect.containment !== undefined;
}

/** In doubt an item stays inside its container: of what was accepted in part, packings alone count. */
export const isApplied = ({ outcome }: { outcome: string }, change: ContainmentChange): boolean =>
  outcome === 'accepted' || (outcome === 'partial' && change === 'packed');
