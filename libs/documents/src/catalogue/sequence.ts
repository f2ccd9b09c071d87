import { documentTypeOf } from './catalogue.js';
import { saysTrue } from './effect.js';

/** How an item stands, as far as it matters to what may be done with it next. */
type Stand =
  | 'unreleased'
  | 'in_stock'
  | 'with_agent'
  | 'suspended'
  | 'in_arbitration'
  | 'on_its_way'
  | 'used_in_part'
  | 'handed_over'
  | 'gone';

/** Why the state of an item forbids a document. */
export type Obstacle =
  'awaits_other_side' | 'suspended' | 'in_arbitration' | 'not_in_trade' | 'not_at_place' | 'in_container';

const PARTLY = ['sale', 'discount_prescription_sale', 'medical_use', 'dispensing_by_document', 'ooc'];
const REST_WITHDRAWN = ['sale', 'prescription_sale', 'medical_use', 'dispensing_by_doc'];

const STANDS: Record<Stand, readonly string[]> = {
  unreleased: ['marked'],
  in_stock: ['in_circulation'],
  with_agent: ['transferred_to_agent'],
  suspended: ['paused_circulation'],
  in_arbitration: ['in_arbitration'],
  on_its_way: ['in_realization', 'waiting_confirmation', 'confirm_return_paused'],
  used_in_part: PARTLY.map((one) => `in_partial_${one}`),
  handed_over: ['moved_for_disposal'],
  gone: [
    ...['in_sale', 'in_discount_prescription_sale', 'in_medical_use', 'dispensing_by_document', 'out_of_circulation'],
    ...['moved_to_unregistered', 'moved_to_eeu', 'disposed'],
    ...REST_WITHDRAWN.map((one) => `ooc_part_${one}`),
  ],
};
const STAND_OF = new Map(
  Object.entries(STANDS).flatMap(([stand, statuses]) => statuses.map((status) => [status, stand as Stand] as const)),
);

const OBSTACLES: Record<Stand, Obstacle> = {
  unreleased: 'not_in_trade',
  in_stock: 'not_in_trade',
  with_agent: 'not_in_trade',
  suspended: 'suspended',
  in_arbitration: 'in_arbitration',
  on_its_way: 'awaits_other_side',
  used_in_part: 'not_in_trade',
  handed_over: 'not_in_trade',
  gone: 'not_in_trade',
};

/** From which state an item may be in a document of a type. */
interface SequenceRule {
  from: readonly Stand[];
  /** It must stand at the place that the document speaks for. */
  isHere: boolean;
  /** It must be in no container, unless the type dissolves that by itself. */
  isLoose: boolean;
  /** `shipment`: goods leave for another. `fact`: it reports what has happened. */
  kind: 'shipment' | 'fact' | 'other';
}

/** No state forbids such a document, or none that our record could know; why, for those who read this table. */
type NoRule = "the other side's goods" | 'not known' | 'names no pack' | 'any state' | 'not ours to send';

const STOCK: readonly Stand[] = ['in_stock', 'with_agent'];
const shipment = (...from: Stand[]): SequenceRule => ({ from, isHere: true, isLoose: true, kind: 'shipment' });
const fact = (...from: Stand[]): SequenceRule => ({ from, isHere: true, isLoose: true, kind: 'fact' });
const other = (...from: Stand[]): SequenceRule => ({ from, isHere: true, isLoose: true, kind: 'other' });
/**
 * Every document type: what its items may be, by public-facts 2, 3 and 5. A type gets a rule only where a source tells
 * from which state its items may come. A rule is no stricter than the source: in doubt the registry decides.
 */
const ROWS: readonly (readonly [row: SequenceRule | NoRule, docTypes: readonly number[]])[] = [
  [shipment(...STOCK), [415, 441, 461, 472]],
  [shipment(...STOCK, 'suspended'), [417]],
  [fact(...STOCK, 'used_in_part'), [511, 512, 521, 531, 10511, 10521, 10522, 10531]],
  [fact(...STOCK, 'suspended', 'used_in_part'), [552]],
  [other(...STOCK, 'suspended'), [541]],
  [{ ...other('handed_over'), isHere: false, isLoose: false }, [542]],
  [other(...STOCK, 'unreleased', 'suspended'), [431, 470]],
  [other(...STOCK, 'unreleased'), [911, 914, 915, 916]],
  // What is taken out of a container, or a container that is opened.
  [{ ...other(...STOCK, 'unreleased', 'suspended'), isLoose: false }, [912, 913]],
  ["the other side's goods", [416, 442, 473, 701, 702, 251, 252]],
  ['not known', [300, 313, 314, 315, 331, 332, 333, 334, 335, 336, 337, 341, 342, 351, 360, 361, 362, 363, 381]],
  ['not known', [391, 471, 10300, 10305, 10311, 10319, 10523, 10532]],
  ['names no pack', [210, 212, 213, 220, 250, 432, 812, 20521]],
  ['any state', [253, 254, 481, 705, 10501, 10502]],
  ['not ours to send', [601, 602, 603, 605, 606, 607, 609, 610, 611, 612, 613, 614, 615, 616, 617, 618, 619, 620]],
  ['not ours to send', [621, 622, 623, 624, 625, 627, 629, 630, 631, 632, 633, 634, 200, 201, 211, 221]],
];

const SEQUENCE = byType();

/** @throws Error where a type has two rows. */
function byType(): ReadonlyMap<number, SequenceRule | NoRule> {
  const found = new Map<number, SequenceRule | NoRule>();
  for (const [row, docTypes] of ROWS)
    for (const docType of docTypes) {
      if (found.has(docType)) throw new Error(`type ${docType} has two rows`);
      found.set(docType, row);
    }
  return found;
}

/** The row of a type; undefined for a number that nobody knows. */
export const sequenceRowOf = (docType: number): SequenceRule | NoRule | undefined => SEQUENCE.get(docType);

/** The rule of a type; undefined where it has none. */
export function sequenceRuleOf(docType: number): SequenceRule | undefined {
  const row = SEQUENCE.get(docType);
  return typeof row === 'string' ? undefined : row;
}

/** What is known of an item. Nothing follows from what is not known. Empty place: it has left all that are known. */
interface KnownState {
  status?: string | null | undefined;
  place?: string | null | undefined;
  container?: string | null | undefined;
}

/** The document that an item is to go by. */
export interface NextDocument {
  docType: number;
  /** The place that it speaks for; one that is not a place of 14 digits is none. */
  subjectId: string;
  fields?: Record<string, string>;
}

/** Why the known state of an item forbids a document. Pure. */
export function obstaclesTo(document: NextDocument, state: KnownState): Obstacle[] {
  const rule = sequenceRuleOf(document.docType);
  if (rule === undefined) return [];
  const stand = isKnown(state.status) ? STAND_OF.get(state.status) : undefined;
  return [
    ...(stand === undefined || rule.from.includes(stand) ? [] : [OBSTACLES[stand]]),
    ...(rule.isHere && isElsewhere(document, state) ? ['not_at_place' as const] : []),
    ...(rule.isLoose && isKnown(state.container) && !dissolves(document) ? ['in_container' as const] : []),
  ];
}

const isKnown = (value: string | null | undefined): value is string => value !== undefined && value !== null;

/** Whether it is known how an item with this status stands. */
export const isStandKnown = (status: string): boolean => STAND_OF.has(status);

const isElsewhere = ({ subjectId }: NextDocument, { place }: KnownState): boolean =>
  isKnown(place) && /^\d{14}$/.test(subjectId) && place !== subjectId;

function dissolves({ docType, fields }: NextDocument): boolean {
  const by = documentTypeOf(docType)?.dissolves;
  return typeof by === 'string' ? saysTrue(fields?.[by]) : by === true;
}
