import { checkDigitOf } from '#kernel';
import { PLACES } from '../../apps/sandbox/test/documents.js';

/** A pack as the control port of the sandbox plants it. */
export interface Plant {
  owner?: string;
  place?: string;
  status?: string;
  series?: string;
  expires?: string;
  sscc?: string;
  funding?: number;
  transfer?: { from: string; to: string };
}

/** A row of the stock file, in the order of its columns. */
export interface ShelfRow {
  place: string;
  series: string;
  expiry: string;
  state: 'sellable' | 'quarantine' | 'in_transit';
  funding: string;
  part: string;
  owner: string;
}

/**
 * What happens to a pack: at the registry at the beginning, some days before the count and after it, and in the ERP.
 * What is not said is as for a pack on our shelf. Null: the registry never hears of it, or it is not in the stock.
 */
export interface RegistryStory {
  name: string;
  /** Codes that a run must find; absent: none. */
  finds?: string[];
  begins?: Plant | null;
  /** Planted with the first ones, ten days earlier. */
  long?: boolean;
  recently?: Plant;
  since?: Plant;
  /** The regulator suspends it. */
  suspended?: boolean;
  /** Our document about it, sent at the beginning: it packs it, uses three tenths of it, or is refused. */
  document?: 'packs' | 'uses' | 'is refused';
  stock?: Partial<ShelfRow> | null;
  twice?: boolean;
  disposed?: 'long ago' | 'just now';
  wrongDigit?: boolean;
}

export const { warehouse: HERE, second: OTHER_BRANCH, supplier: SUPPLIER, customer: CUSTOMER } = PLACES;
/** Of the sandbox's world. */
export const OUR_NUMBER = '7701234501';
const SUPPLIER_NUMBER = '7702234502';
export const SERIES = 'AB1';
const CYRILLIC_SERIES = '\u0410\u0412' + '1';
export const ssccOf = (n: number): string => {
  const digits = `04600000000000${String(n).padStart(3, '0')}`;
  return `${digits}${checkDigitOf(digits)}`;
};
/** Ours are packed into the first one. */
export const [BOX, OTHER_BOX] = [ssccOf(1), ssccOf(2)] as const;

const notHere = { stock: null };
const theirs: Plant = { owner: 'customer-a', place: CUSTOMER };
const coming: Plant = {
  ...{ owner: 'supplier-a', place: SUPPLIER, status: 'in_realization' },
  transfer: { from: SUPPLIER, to: HERE },
};
const leaving: Plant = { status: 'in_realization', transfer: { from: HERE, to: CUSTOMER } };
const partly: Plant = { status: 'in_partial_sale' };

export const INNOCENT: readonly RegistryStory[] = [
  { name: 'on the shelf' },
  { name: 'in quarantine', stock: { state: 'quarantine' } },
  { name: 'on the shelf since yesterday', recently: {} },
  { name: 'used in part, as both say', begins: partly, stock: { part: '7/10' } },
  { name: 'used in part by our document', document: 'uses', stock: { part: '70/100' } },
  { name: 'in its box by our document, and at the registry', document: 'packs' },
  { name: 'just sold, and the till has not told it', ...notHere, disposed: 'just now' },
  { name: 'just gone', ...notHere, recently: {} },
  { name: 'sold by a till', ...notHere, recently: { status: 'in_sale' }, disposed: 'just now' },
  { name: 'sold, and archived', ...notHere, begins: { status: 'in_sale' }, disposed: 'long ago' },
  { name: 'sold to a customer, who hides it', ...notHere, begins: theirs, disposed: 'long ago' },
  { name: 'on its way to us', begins: null, recently: coming, stock: { state: 'in_transit' } },
  { name: 'on its way from us', ...notHere, begins: null, recently: leaving },
  { name: 'at another branch', ...notHere, begins: { place: OTHER_BRANCH } },
  { name: 'look-alike letters', stock: { series: CYRILLIC_SERIES } },
  { name: 'paid for by federal money, as both say', begins: { funding: 2 }, stock: { funding: '2' } },
  { name: 'kept for its owner, as both say', begins: { owner: 'supplier-a' }, stock: { owner: SUPPLIER_NUMBER } },
];

const ALWAYS: readonly RegistryStory[] = [
  finds('duplicate_locally', { name: 'two rows', twice: true }),
  finds('master_data_error', { name: 'wrong check digit', wrongDigit: true }),
  finds('not_visible_to_us', { name: "another's, who hides it", begins: theirs }),
  finds('archived_in_stock', { name: 'sold long ago, and on the shelf', begins: { status: 'in_sale' } }),
  finds('unknown_serial', { name: 'nobody knows it', begins: null }),
  finds('sold_here_open_in_registry', { name: 'sold, and no till told it', ...notHere, disposed: 'long ago' }),
  finds('missing_locally', { name: 'lost', ...notHere }),
  finds('missing_locally', { name: 'lost while suspended', ...notHere, suspended: true }),
  finds('awaiting_counterparty', { name: 'on its way for long', begins: coming, stock: { state: 'in_transit' } }),
  finds('awaiting_counterparty', { name: 'shipped long ago', ...notHere, begins: leaving }),
  finds('not_accepted_inbound', { name: 'put away, and not accepted', begins: null, recently: coming }),
  finds('unmapped_status', { name: 'a status of tomorrow', begins: { status: 'a_new_word' } }),
  finds('sold_with_deviation', { name: 'sold with an error', ...notHere, begins: { status: 'ofd_retail_error' } }),
  finds('sold_in_registry_in_stock_here', { name: 'sold, and on the shelf', recently: { status: 'in_sale' } }),
  finds('suspended_in_transit', {
    name: 'suspended on its way',
    begins: coming,
    suspended: true,
    stock: { state: 'in_transit' },
  }),
  finds('suspended_in_stock', { name: 'suspended, and for sale', suspended: true }),
  finds('suspended_in_stock', { name: 'suspended', suspended: true, stock: { state: 'quarantine' } }),
  finds('status_mismatch', { name: 'withdrawn, and on the shelf', recently: { status: 'out_of_circulation' } }),
  finds('owner_or_branch_mismatch', { name: 'of another branch', begins: { place: OTHER_BRANCH } }),
  finds('owner_or_branch_mismatch', { name: "counted as another's, and ours", stock: { owner: SUPPLIER_NUMBER } }),
  finds('container_dissolved', { name: 'in a box by our document alone', document: 'packs', recently: {} }),
  finds('container_mismatch', { name: 'in another box', document: 'packs', recently: { sscc: OTHER_BOX } }),
  finds('attribute_mismatch', { name: 'another series', stock: { series: 'XY9' } }),
  finds('attribute_mismatch', { name: 'another expiry', stock: { expiry: '2031-12-31' } }),
  finds('funding_mismatch', { name: 'paid for by other money', begins: { funding: 2 }, stock: { funding: '1' } }),
  finds('part_mismatch', { name: 'used in part here alone', stock: { part: '7/10' } }),
  finds('part_mismatch', { name: 'used in part at the registry alone', begins: partly, stock: { part: '1' } }),
  finds('part_mismatch', { name: 'more left than our document says', document: 'uses', stock: { part: '9/10' } }),
  finds('held_for_others', { name: "counted as ours, and the supplier's", begins: { owner: 'supplier-a' } }),
  finds('hung_stock', { name: 'never moves', long: true }),
  finds('moved_during_run', { name: 'sold since the count', since: { status: 'in_sale' } }),
  finds('rejected_document', {
    name: 'sold, and our document was refused',
    ...{ begins: theirs, document: 'is refused', stock: null, disposed: 'long ago' },
    recently: {},
  }),
];

/** @param expired a day before the count: as the registry writes it, and as the stock does. */
export const planted = (expired: { expires: string; expiry: string }): readonly RegistryStory[] => [
  ...ALWAYS,
  finds('expired_auto_written_off', {
    name: 'written off by the registry',
    begins: { status: 'expired', expires: expired.expires },
    stock: { expiry: expired.expiry },
  }),
  finds('expired_in_stock', {
    name: 'expired, and for sale',
    begins: { expires: expired.expires },
    stock: { expiry: expired.expiry },
  }),
];

function finds(code: string, story: Omit<RegistryStory, 'finds'>): RegistryStory {
  return { ...story, finds: [code] };
}

/** What a live registry, planted once, cannot show. Each of them is in the planted world of made snapshots. */
export const NOT_THROUGH_A_REGISTRY: Record<string, string> = {
  missing_in_registry: 'our record knows a pack from an accepted document, and the registry never forgets one',
  stale_snapshot: 'answers that are fetched for a run are never older than its stock',
  undetermined_item: 'a partial receipt that names no item is a misbehaviour of chance',
  halted_in_group: 'a group that halted stays open, and is a scenario of its own (groups.int.spec.ts)',
  overdue_document: 'a document without an outcome for hours needs hours of real time',
};
