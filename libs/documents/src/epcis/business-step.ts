import type { ItemEffect } from '../port.js';
import { CATALOGUE, documentTypeOf } from '../catalogue/catalogue.js';
import { codeOf, NOT_KNOWN, SUSPENDED } from '../catalogue/effect.js';

/** A line of the Core Business Vocabulary 2.0. What no source tells is absent. */
export interface BusinessStep {
  action: 'ADD' | 'OBSERVE' | 'DELETE';
  bizStep?: string;
  disposition?: string;
}

/** What a document says of an item, as far as its step depends on it. */
interface StepFacts {
  status?: ItemEffect['status'];
  fields: Record<string, string>;
}

type Steps = (facts: StepFacts) => BusinessStep[];

const observed =
  (bizStep?: string, disposition?: string): Steps =>
  () => [{ action: 'OBSERVE', ...(bizStep && { bizStep }), ...(disposition && { disposition }) }];
const ended = (bizStep: string, disposition: string): BusinessStep[] => [{ action: 'DELETE', bizStep, disposition }];

const isPart = ({ status }: StepFacts): boolean => status?.startsWith('in_partial_') === true;

/** A suspended pack stays so, whatever moves it. */
const sellable = ({ status }: StepFacts): string =>
  status !== undefined && SUSPENDED.has(status) ? 'non_sellable_other' : 'sellable_accessible';

const commissioned: Steps = () => [{ action: 'ADD', bizStep: 'commissioning', disposition: 'active' }];
const shipped = observed('shipping', 'in_transit');
const posted: Steps = (facts) => observed('accepting', sellable(facts))(facts);
const accepted: Steps = (facts) => [...observed('receiving')(facts), ...posted(facts)];
/** Of a part that is sold the vocabulary has no word. */
const sold: Steps = (facts) => observed('retail_selling', isPart(facts) ? undefined : 'retail_sold')(facts);
const dispensed: Steps = (facts) => observed('dispensing', isPart(facts) ? 'partially_dispensed' : 'dispensed')(facts);
const arbitrated: Steps = (facts) => observed(facts.status === 'in_arbitration' ? 'holding' : 'inspecting')(facts);
/** The vocabulary has no step for what an authority allows, and none for a move between own places. */
const inCirculation: Steps = (facts) => observed(undefined, sellable(facts))(facts);
const moved = observed();

/** By the reason of a withdrawal (type 552). A part that is withdrawn leaves its pack in circulation. */
function withdrawn(facts: StepFacts): BusinessStep[] {
  const reason = codeOf(facts.fields['withdrawal_type']) ?? '';
  if (['6', '7', '8', '9', '10', '12', '19', '20'].includes(reason))
    return observed('sampling', 'non_sellable_other')(facts);
  if (isPart(facts)) return observed(undefined, 'non_sellable_other')(facts);
  switch (reason) {
    case '21':
      return ended('decommissioning', 'stolen');
    case '22':
      return ended('decommissioning', 'expired');
    case '16':
      return ended('decommissioning', 'damaged');
    case '24':
    case '26':
      return shipped(facts);
    case '27':
      return observed('holding', 'non_sellable_other')(facts);
    case '28':
      return ended('destroying', 'destroyed');
    default:
      return ended('decommissioning', 'unknown');
  }
}

/** What each type does, in the words of the vocabulary. Those that are missing have no event; `noEventOf` says why. */
const STEPS: Readonly<Record<number, Steps>> = {
  10311: commissioned,
  10319: commissioned,
  313: inCirculation,
  342: inCirculation,
  363: inCirculation,
  391: observed('receiving', 'returned'),
  415: shipped,
  416: observed('receiving'),
  417: shipped,
  431: moved,
  432: moved,
  441: shipped,
  461: shipped,
  470: moved,
  472: shipped,
  481: arbitrated,
  701: accepted,
  702: posted,
  705: moved,
  812: moved,
  511: sold,
  10511: sold,
  512: dispensed,
  521: dispensed,
  531: dispensed,
  10521: dispensed,
  10522: dispensed,
  10531: dispensed,
  541: observed('shipping', 'non_sellable_other'),
  542: () => ended('destroying', 'destroyed'),
  552: withdrawn,
  632: (facts) => withdrawn({ ...facts, fields: { withdrawal_type: '22' } }),
  911: () => [{ action: 'ADD', bizStep: 'packing' }],
  914: () => [{ action: 'ADD', bizStep: 'packing' }],
  915: () => [{ action: 'ADD', bizStep: 'packing' }],
  916: () => [{ action: 'ADD', bizStep: 'packing' }],
  912: () => [{ action: 'DELETE', bizStep: 'unpacking' }],
  // It does not name the container, which the removal of a child from its parent would have to.
  913: observed('unpacking'),
  251: observed('void_shipping'),
  252: observed('void_shipping'),
};

/** A notification tells what the document of the other side did. */
const sentAs = (docType: number): number => CATALOGUE.find(({ toldBy }) => toldBy === docType)?.docType ?? docType;

/** The steps of a document for an item to which it was applied; none where `noEventOf` says why. */
export const stepsOf = (docType: number, facts: StepFacts): BusinessStep[] =>
  noEventOf(docType) === undefined ? ((STEPS[docType] ?? STEPS[sentAs(docType)])?.(facts) ?? []) : [];

/** Why documents of a type are no event in EPCIS; undefined where they are. */
export function noEventOf(docType: number): string | undefined {
  const type = documentTypeOf(docType);
  if (type === undefined) return `type ${docType} is not known`;
  if (type.direction === 'query' || type.direction === 'answer') return 'it asks or answers, and moves nothing';
  if (type.effect === NOT_KNOWN) return 'what it does to a pack is not publicly known';
  return STEPS[docType] === undefined && STEPS[sentAs(docType)] === undefined ? 'it moves no pack' : undefined;
}
