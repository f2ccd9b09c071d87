import { defined } from '#kernel';
import * as effect from './effect.js';
import type { TypeEffect } from './effect.js';

const { NOT_KNOWN } = effect;

/** `claimed`: begun by the receiver, who has the goods; the shipper confirms. */
type Transfer = 'begins' | 'is claimed' | 'ends' | 'is taken back' | 'is refused';

/** What is known of a document type, whichever schema set it is checked by (public-facts 2, 3 and 5). */
export interface DocumentType {
  /** Scheme number, the `action_id`. */
  docType: number;
  /** Name of the action element. */
  element: string;
  /** Plain English. */
  title: string;
  /**
   * `notification`s and `answer`s are made by the registry alone; a `query` changes nothing, and an answer of its own
   * type stands in place of its receipt.
   */
  direction: 'outgoing' | 'notification' | 'query' | 'answer';
  /** Where its moment stands: in `operation_date` where absent, in each of its receipts, elsewhere, or nowhere. */
  date?: 'in receipts' | 'notification_date' | 'none';
  /** The field that names the other side, where it is none of `receiver_id`, `shipper_id` and `counterparty_id`. */
  counterparty?: string;
  /** Most SGTINs and SSCCs in one document. */
  maxItems: number;
  effect: TypeEffect | typeof NOT_KNOWN;
  /** It moves all that a place holds, and names no item: the field that names the place. */
  wholePlace?: 'subject_id' | 'shipper_id';
  /** Its list has no rows: what follows an SGTIN describes it. */
  flatRows?: true;
  /** Which containers its items go into: its own one, or the one of each row. */
  packsInto?: 'own' | 'row';
  /** What a transfer is after it. Both sides hear of it by a notification. */
  transfer?: Transfer;
  /** Its notification to the other side does what it does itself. */
  toldBy?: number;
  /** The field that names the earlier document or receipt that it corrects. */
  corrects?: string;
  /** Types that undo it; none known where absent. */
  undoneBy?: readonly number[];
  /** Does it dissolve containers by itself? Absent: not known. A name is that of the field that says so. */
  dissolves?: boolean | 'unpack';
}

type Optional = Partial<Omit<DocumentType, 'docType' | 'element' | 'title' | 'direction'>>;

/** "Nearly all" types (public-facts 2.1). */
const MOST_ITEMS = 25_000;

type Row = [docType: number, element: string, title: string, more?: Optional];

const row =
  (direction: DocumentType['direction']) =>
  (...[docType, element, title, more]: Row): DocumentType => ({
    docType,
    element,
    title,
    direction,
    maxItems: MOST_ITEMS,
    effect: NOT_KNOWN,
    ...more,
  });

const out = row('outgoing');
const does = (what: TypeEffect, more: Optional = {}): Optional => ({ effect: what, ...more });
const noItems: Optional = { effect: effect.keepsAll, maxItems: 0 };
const cancelled: Optional = { undoneBy: [250] };

/** What participants send. */
const SENT: readonly DocumentType[] = [
  // Production and import
  out(10300, 'code_emission', 'Emission of codes (order station)', { maxItems: 150_000 }),
  out(10305, 'skzkm_report_of_dropout', 'Drop-out of codes (order station)'),
  out(10311, 'skzkm_register_end_packing', 'End of packing registered', does(effect.marked, { maxItems: 30_000 })),
  out(
    10319,
    'skzkm_foreign_emission',
    'Registration by the emission registrar',
    does(effect.marked, { maxItems: 30_000 }),
  ),
  out(300, 'transfer_code_to_custom', 'Codes handed to a customs warehouse', {
    maxItems: 10_000,
    counterparty: 'custom_receiver_id',
    ...cancelled,
  }),
  out(313, 'register_product_emission', 'Release into circulation', does(effect.released, cancelled)),
  out(314, 'move_to_release', 'Shipment for release of finished product', { counterparty: 'owner_id', toldBy: 618 }),
  out(315, 'return_contract_production', 'Return to the contract maker', { toldBy: 622 }),
  out(331, 'foreign_shipment', 'Foreign shipment into the country', { toldBy: 613 }),
  out(332, 'foreign_import', 'Import', { toldBy: 614 }),
  out(333, 'foreign_import_owner', 'Import without an importer', cancelled),
  out(334, 'custom_move', 'Move between customs zones', cancelled),
  out(335, 'fts_data', 'Result of customs clearance', cancelled),
  out(336, 'import_info', 'Conditions of import of goods marked in a customs warehouse', { toldBy: 620 }),
  out(337, 'return_import', 'Return of imported goods', { toldBy: 625 }),
  out(341, 'receive_importer', "Receipt into the importer's warehouse", cancelled),
  out(342, 'release_in_circulation', 'Release into circulation after import', does(effect.released, cancelled)),
  out(351, 'change_owner', 'Change of owner', { toldBy: 609 }),
  out(360, 'eeu_owner', 'Import of own goods from the economic union', cancelled),
  out(361, 'eeu_shipment', 'Shipment into the country from the economic union', { toldBy: 615 }),
  out(362, 'eeu_import', 'Import and receipt from the economic union', { toldBy: 616 }),
  out(363, 'eeu_release', 'Release into circulation from the economic union', does(effect.released, cancelled)),
  out(381, 'move_owner', 'Shipment to the owner', { counterparty: 'owner_id', toldBy: 603 }),

  // Between companies: 415 leaves goods awaiting the receiver, 416 awaiting the supplier; 701 settles both.
  out(391, 'return_to_circulation', 'Return to circulation', does(effect.released)),
  out(
    415,
    'move_order',
    'Shipment to a buyer',
    does(effect.shipped, { transfer: 'begins', toldBy: 601, undoneBy: [251, 252] }),
  ),
  out(
    416,
    'receive_order',
    'Receipt from a supplier (reverse order)',
    does(effect.awaitsSupplier, { transfer: 'is claimed', toldBy: 602, undoneBy: [251, 252] }),
  ),
  out(
    417,
    'move_return',
    'Return of suspended goods',
    does(effect.returnedSuspended, { transfer: 'begins', toldBy: 610, undoneBy: [251, 252] }),
  ),
  out(431, 'move_place', 'Move between own places', does(effect.movedPlace, { toldBy: 629, ...cancelled })),
  out(432, 'move_place_all', 'Move everything between own places', {
    ...noItems,
    effect: effect.movedPlace,
    wholePlace: 'subject_id',
    toldBy: 634,
  }),
  out(441, 'move_unregistered_order', 'Shipment to an unregistered place', {
    effect: effect.leftTo('moved_to_unregistered'),
    undoneBy: [391],
  }),
  out(442, 'receive_unregistered_order', 'Receipt of goods shipped to an unregistered place', { toldBy: 611 }),
  out(461, 'move_eeu', 'Shipment to a member of the economic union', {
    effect: effect.leftTo('moved_to_eeu'),
    undoneBy: [391],
  }),
  out(470, 'move_state_dispatch', 'Move between own places, state supply', {
    effect: effect.movedPlace,
    toldBy: 630,
    ...cancelled,
  }),
  out(471, 'state_dispatch', 'Change of holder, state supply', { toldBy: 612 }),
  out(472, 'agent_dispatch', 'Shipment by an agency contract', does(effect.givenToAgent, { toldBy: 619 })),
  out(473, 'agent_acceptance', 'Acceptance by an agent', { toldBy: 624 }),
  out(481, 'arbitration', 'Arbitration set or lifted', does(effect.arbitrated, { toldBy: 621 })),
  out(701, 'accept', 'Acceptance of goods', does(effect.received, { transfer: 'ends', toldBy: 607 })),
  out(702, 'posting', 'Posting of goods to stock', does(effect.received, { toldBy: 627 })),
  out(705, 'not_on_balance', 'Goods are not on our balance', does(effect.disowned)),
  out(812, 'successor_acceptance', "Move to the legal successor's warehouse", {
    ...noItems,
    effect: effect.movedPlace,
    wholePlace: 'shipper_id',
    toldBy: 631,
  }),

  // Leaving circulation
  out(511, 'retail_sale', 'Retail sale', does(effect.sold, { undoneBy: [391] })),
  out(
    512,
    'withdrawal_without_kkt',
    'Dispensing by a document without a till',
    does(effect.dispensedByDocument, { undoneBy: [391] }),
  ),
  out(521, 'recipe', 'Dispensing on a discount prescription', does(effect.dispensed, { undoneBy: [391] })),
  out(531, 'health_care', 'Use in medical care', does(effect.used, { undoneBy: [391] })),
  out(541, 'move_destruction', 'Handover for destruction', {
    effect: effect.handedOver,
    ...cancelled,
  }),
  out(542, 'destruction', 'Destruction', does(effect.destroyed)),
  out(552, 'withdrawal', 'Withdrawal from circulation', {
    effect: effect.withdrawn,
    undoneBy: [391],
    dissolves: 'unpack',
  }),
  out(10511, 'retail_sell_kkt', 'Retail sale (till)', does(effect.sold, { undoneBy: [391], date: 'in receipts' })),
  out(
    10521,
    'skzkm_recipe',
    'Dispensing on a discount prescription (disposal registrar)',
    does(effect.dispensed, { undoneBy: [391] }),
  ),
  out(
    10522,
    'recipe_kkt',
    'Dispensing on a discount prescription (till)',
    does(effect.dispensed, { undoneBy: [391], date: 'in receipts' }),
  ),
  out(10523, 'skzkm_code_error_recipe', 'Dispensing on a discount prescription, invalid codes (disposal registrar)'),
  out(10531, 'skzkm_health_care', 'Use in medical care (disposal registrar)', does(effect.used, { undoneBy: [391] })),
  out(10532, 'skzkm_code_error_healthcare', 'Use in medical care, invalid codes (disposal registrar)'),
  out(20521, 'service_disposal_registrar', 'A disposal registrar was connected'),

  // Containers
  out(911, 'unit_pack', 'Packing into a container', does(effect.packed, { packsInto: 'own', undoneBy: [912] })),
  out(912, 'unit_unpack', 'Unpacking of containers', does(effect.opened, { maxItems: 1_500, dissolves: true })),
  out(913, 'unit_extract', 'Extraction from a container', does(effect.takenOut)),
  out(914, 'unit_append', 'Addition to a container', does(effect.packed, { packsInto: 'own', undoneBy: [913] })),
  out(915, 'multi_pack', 'Packing into many containers', does(effect.packed, { packsInto: 'row', undoneBy: [912] })),
  out(
    916,
    'multi_unit_append',
    'Addition to many containers',
    does(effect.packed, { packsInto: 'row', undoneBy: [913] }),
  ),

  // Corrections, and what concerns no pack. A recall names an operation by its id and lists no items.
  out(212, 'edit_counterparty_list', 'Edit of the list of trusted partners', { ...noItems, date: 'none' }),
  out(
    213,
    'booking_sscc',
    'Reservation or release of SSCC numbers',
    does(effect.keepsAll, { maxItems: 300, date: 'none' }),
  ),
  out(250, 'recall', 'Recall of an earlier operation', { ...noItems, corrects: 'operation_id' }),
  out(
    251,
    'refusal_sender',
    'Recall of a shipment by its sender',
    does(effect.released, { transfer: 'is taken back', toldBy: 605 }),
  ),
  out(
    252,
    'refusal_receiver',
    'Refusal of a shipment by its receiver',
    does(effect.backAtShipper, { transfer: 'is refused', toldBy: 606 }),
  ),
  out(253, 'change_information', 'Correction of details of packs', does(effect.keepsAll, { maxItems: 150_000 })),
  out(
    254,
    'change_property',
    'Correction of a shipment or receipt',
    does(effect.keepsAll, { corrects: 'operation_id', toldBy: 623 }),
  ),
  out(
    10501,
    'retail_sell_kkt_corrected',
    'Correction of a till sale',
    does(effect.keepsAll, { corrects: 'origin_receipt_id', date: 'in receipts' }),
  ),
  out(
    10502,
    'recipe_kkt_corrected',
    'Correction of a till sale on prescription',
    does(effect.keepsAll, { corrects: 'origin_receipt_id', date: 'in receipts' }),
  ),

  row('query')(210, 'query_kiz_info', 'Query about one item', does(effect.keepsAll, { maxItems: 1, date: 'none' })),
  row('query')(
    220,
    'query_hierarchy_info',
    'Query about a container',
    does(effect.keepsAll, { maxItems: 1, date: 'none' }),
  ),
];

const byNotification = new Map(SENT.map((type) => [type.toldBy, type]));

/** A notification does what the document of the other side did. */
function note(...[docType, element, title, more]: Row): DocumentType {
  const { effect: done, maxItems, counterparty, corrects, transfer }: Optional = byNotification.get(docType) ?? {};
  const told = defined({ effect: done, maxItems, counterparty, corrects, transfer });
  return row('notification')(docType, element, title, { ...told, ...more });
}

/** What the registry writes to participants. */
const NOTIFICATIONS: readonly DocumentType[] = [
  note(601, 'move_order_notification', 'Notification: goods are shipped to us'),
  note(602, 'receive_order_notification', 'Notification: a buyer received goods (reverse order)'),
  note(603, 'move_owner_notification', 'Notification: goods are shipped to us as their owner'),
  note(605, 'refusal_sender_notification', 'Notification: the sender recalled a shipment'),
  note(606, 'refusal_receiver_notification', 'Notification: the receiver refused a shipment'),
  note(607, 'accept_notification', 'Notification: goods were accepted'),
  note(609, 'change_owner_notification', 'Notification: change of owner'),
  note(610, 'move_return_notification', 'Notification: suspended goods come back'),
  note(611, 'receive_unregistered_notification', 'Notification: the unregistered receiver received goods'),
  note(612, 'state_dispatch_notification', 'Notification: change of holder, state supply'),
  note(613, 'foreign_shipment_notification', 'Notification: foreign shipment'),
  note(614, 'foreign_import_notification', 'Notification: import'),
  note(615, 'eeu_shipment_notification', 'Notification: shipment from the economic union'),
  note(616, 'eeu_import_notification', 'Notification: import and receipt from the economic union'),
  note(
    617,
    'receive_order_errors_notification',
    'Notification: errors in a receipt from a supplier',
    does(effect.keepsAll),
  ),
  note(618, 'move_to_release_notification', 'Notification: shipment for release'),
  note(619, 'agent_dispatch_notification', 'Notification: shipment by an agency contract'),
  note(620, 'import_info_notification', 'Notification: conditions of import'),
  note(621, 'arbitration_notification', 'Notification: arbitration'),
  note(622, 'return_contract_production_notification', 'Notification: return to the contract maker'),
  note(623, 'change_property_notification', 'Notification: correction of a shipment or receipt'),
  note(624, 'agent_acceptance_notification', 'Notification: acceptance by an agent'),
  note(625, 'return_import_notification', 'Notification: return of imported goods'),
  note(627, 'posting_notification', 'Notification: another posted our goods'),
  note(629, 'move_place_notification', 'Notification: move between places'),
  note(630, 'move_state_dispatch_notification', 'Notification: move, state supply'),
  note(631, 'successor_acceptance_notification', 'Notification: move to the legal successor', {
    wholePlace: 'shipper_id',
  }),
  note(
    632,
    'expired_writeoff_notification',
    'Notification: expired packs were written off',
    does(effect.withdrawn, { flatRows: true }),
  ),
  note(633, 'attention_notification', 'Notification: warning or violation', { ...noItems, date: 'notification_date' }),
  // It names the participant whose place it is and not the place, so that nothing follows from it for a pack.
  note(634, 'move_place_all_notification', 'Notification: everything moves between places', noItems),
];

/** All document types. */
export const CATALOGUE: readonly DocumentType[] = [
  ...SENT,
  ...NOTIFICATIONS,
  row('answer')(200, 'result', 'Receipt', noItems),
  row('answer')(201, 'result_service', 'Result of an edit of own data', noItems),
  row('answer')(211, 'kiz_info', 'Answer about one item', does(effect.keepsAll)),
  row('answer')(221, 'hierarchy_info', 'Answer about a container', does(effect.keepsAll)),
];

const byNumber = new Map(CATALOGUE.map((type) => [type.docType, type]));

/** The type with this scheme number; undefined for a number that nobody knows. */
export const documentTypeOf = (docType: number): DocumentType | undefined => byNumber.get(docType);

/** Whether anybody here knows what a document of this type is. */
export const isKnownType = (docType: number): boolean => byNumber.has(docType);

/** The plain name of a type. */
export const titleOfType = (docType: number): string => documentTypeOf(docType)?.title ?? `Document ${docType}`;
