import { isPlace } from '#domain';
import { documentTypeOf, RECALL, typeKnowledge, type DocumentFacts } from '#documents';

/** What a document does to containment, if it is accepted. */
export type ContainmentChange = 'packed' | 'taken_out' | 'opened' | 'opened_all';

/** The items of a document, as far as claims are concerned. */
export interface NamedItems {
  /** `parent`: the container that the item goes into. */
  items: { item: string; parent: string | undefined }[];
  /** Where its packs are, come from or go to, as far as it says so. */
  places: string[];
  /** It names no item, and moves all that a place holds. */
  isWholePlace: boolean;
  change: ContainmentChange | undefined;
  /** The operation that it takes back, by either id: its items are meant. */
  recalls?: string | undefined;
}

export const NOTHING: NamedItems = { items: [], places: [], isWholePlace: false, change: undefined };

/** Pure. An item that a document names twice counts once, with its last container. What only asks claims nothing. */
export function namedItemsOf(facts: DocumentFacts): NamedItems {
  if (typeKnowledge.movesNothing(facts.docType)) return NOTHING;
  const { docType, subjectId, counterpartyId, fields, items } = facts;
  const wholePlace = documentTypeOf(docType)?.wholePlace;
  const parents = new Map(items.map(({ id, into }) => [id, into]));
  const named = [subjectId, counterpartyId, wholePlace && fields[wholePlace]];
  return {
    items: [...parents].map(([item, parent]) => ({ item, parent })),
    places: [...new Set(named.filter((one) => one !== undefined && isPlace(one)))] as string[],
    isWholePlace: wholePlace !== undefined,
    change: changeOf(facts),
    ...(docType === RECALL ? { recalls: fields['operation_id'] } : {}),
  };
}

function changeOf({ docType, fields }: DocumentFacts): ContainmentChange | undefined {
  // What a place holds moves as it stands there: in its containers.
  if (documentTypeOf(docType)?.wholePlace !== undefined) return undefined;
  const containment = containmentOf(docType);
  return containment === 'opened' && typeKnowledge.opensAll(fields) ? 'opened_all' : containment;
}

function containmentOf(docType: number) {
  const effect = documentTypeOf(docType)?.effect;
  return effect === undefined || typeof effect === 'string' ? undefined : effect.containment;
}

/** Whether a document of this type changes containment at all: only then it is worth reading. */
export const changesContainment = (docType: number): boolean => containmentOf(docType) !== undefined;

/** Whether a document of this type puts items into a container. */
export const packs = (docType: number): boolean => containmentOf(docType) === 'packed';

/** In doubt an item stays inside its container: of what was accepted in part, packings alone count. */
export const isApplied = ({ outcome }: { outcome: string }, change: ContainmentChange): boolean =>
  outcome === 'accepted' || (outcome === 'partial' && change === 'packed');
