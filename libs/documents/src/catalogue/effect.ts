import type { DocumentFacts } from '../port.js';

/**
 * What one document type does to each SGTIN or SSCC that it lists (public-facts 2.5, 3.2 and 5). What it does to an
 * SSCC, it does to all that the SSCC holds.
 */
export interface TypeEffect {
  /** Status that the item then has at the registry; absent when it keeps its own. A suspended pack may stay so. */
  status?: string | ((facts: Pick<DocumentFacts, 'fields'>) => string);
  /** Status when only a part of the pack is meant (`sold_part` below 1); absent when it keeps its own. */
  partStatus?: string;
  /** Where the item then is or goes: the place of the document's subject or counterparty, or none that is known. */
  place?: 'subject' | 'counterparty' | 'left';
  /** Whose the item then is: most documents are taken from its owner alone. A transfer that is known says more. */
  owner?: 'subject' | 'counterparty' | 'left';
  /** Who then answers for the item. */
  holder?: 'subject' | 'counterparty' | 'left';
  /**
   * `packed`: goes into a container of the document. `taken_out`: is in no container any more, if it was in one; so
   * also for what is moved, sold or withdrawn by itself, because a document names only the outermost unit. `opened`:
   * this SSCC releases what it held.
   */
  containment?: 'packed' | 'taken_out' | 'opened';
}

/** A code as it is compared: a whole number of the schema may have blanks around it, and zeros or a sign before it. */
export const codeOf = (said: string | undefined): string | undefined =>
  said === undefined ? undefined : said.trim().replace(/^\+?0*(?=\d)/, '');
/** The two words of xs:boolean for true. */
export const saysTrue = (said: string | undefined): boolean => ['true', '1'].includes(said?.trim() ?? '');

/** No source tells what the type does to a pack: its packs are uncertain until the registry's own status is read. */
export const NOT_KNOWN = 'not known';

export const keepsAll: TypeEffect = {};
const subjects = { owner: 'subject', holder: 'subject' } as const;

/** The goods are the shipper's, and his to answer for, until the receiver accepts them. */
export const shipped: TypeEffect = {
  status: 'in_realization',
  place: 'counterparty',
  containment: 'taken_out',
  ...subjects,
};
export const released: TypeEffect = { status: 'in_circulation', place: 'subject', ...subjects };
/** An SSCC is accepted only whole, so an SGTIN that is accepted by itself was shipped by itself. */
export const received: TypeEffect = { ...released, containment: 'taken_out' };
export const awaitsSupplier: TypeEffect = {
  status: 'waiting_confirmation',
  place: 'subject',
  containment: 'taken_out',
  owner: 'counterparty',
  holder: 'subject',
};
/** The receiver refused it: the goods stand where they came from. */
export const backAtShipper: TypeEffect = {
  status: 'in_circulation',
  place: 'counterparty',
  owner: 'counterparty',
  holder: 'counterparty',
};
export const returnedSuspended: TypeEffect = { ...shipped, status: 'confirm_return_paused' };
export const marked: TypeEffect = { status: 'marked', place: 'subject', ...subjects };
/** Between places of one owner: a pack that is not in circulation yet, or no more, moves too, and stays what it is. */
export const movedPlace: TypeEffect = {
  place: 'counterparty',
  containment: 'taken_out',
  owner: 'subject',
  holder: 'counterparty',
};
export const givenToAgent: TypeEffect = { ...movedPlace, status: 'transferred_to_agent' };
/** A pack that is sold, used or withdrawn by itself, whole or in part. */
const usedUp = (status: string, partStatus: string): TypeEffect => ({
  status,
  partStatus,
  containment: 'taken_out',
  ...subjects,
});
export const sold = usedUp('in_sale', 'in_partial_sale');
export const dispensed = usedUp('in_discount_prescription_sale', 'in_partial_discount_prescription_sale');
export const dispensedByDocument = usedUp('dispensing_by_document', 'in_partial_dispensing_by_document');
export const used = usedUp('in_medical_use', 'in_partial_medical_use');
export const withdrawn = usedUp('out_of_circulation', 'in_partial_ooc');
export const leftTo = (status: string): TypeEffect => ({
  status,
  place: 'left',
  containment: 'taken_out',
  owner: 'subject',
  holder: 'left',
});
export const disowned: TypeEffect = { place: 'left', containment: 'taken_out', owner: 'left', holder: 'left' };
export const arbitrated: TypeEffect = {
  status: ({ fields }) => (codeOf(fields.sign_arbitration) === '2' ? 'in_circulation' : 'in_arbitration'),
};
export const packed: TypeEffect = { containment: 'packed', ...subjects };
export const opened: TypeEffect = { containment: 'opened', ...subjects };
/** Whether what opens a container opens those in it too: the schema gives an empty element the default true. */
export const opensAll = ({ is_recursive: said }: Readonly<Record<string, string>>): boolean =>
  saysTrue(said) || said?.trim() === '';
export const takenOut: TypeEffect = { containment: 'taken_out', ...subjects };
export const handedOver: TypeEffect = { status: 'moved_for_disposal', containment: 'taken_out', owner: 'subject' };
export const destroyed: TypeEffect = { status: 'disposed', containment: 'taken_out', owner: 'subject' };

/**
 * A pack that the inspectorate or its maker has suspended stays `then` whatever moves it in trade: as sets, for whoever
 * folds many packs at once.
 */
export const suspension = {
  suspended: ['paused_circulation', 'confirm_return_paused'],
  /** What a pack is while it can be traded and moved. */
  inTrade: ['in_circulation', 'in_realization', 'waiting_confirmation', 'transferred_to_agent'],
  then: 'paused_circulation',
};
export const SUSPENDED = new Set(suspension.suspended);
const IN_TRADE = new Set(suspension.inTrade);

/** Statuses of what lies at a place and may go to another one of its owner: what 431 may move. */
export const LYING = ['in_circulation', 'marked', 'paused_circulation'];

/** The status after a movement, by the status before it: a suspended pack stays so, whatever moves it. */
export const statusAfter = (before: string | undefined, moved: string): string =>
  before !== undefined && SUSPENDED.has(before) && IN_TRADE.has(moved) ? suspension.then : moved;
