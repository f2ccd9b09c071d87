/**
 * What one document type does to each SGTIN or SSCC that it lists. What it does to an SSCC, it does to all that the
 * SSCC holds.
 */
export interface TypeEffect {
  /** Status that the item then has at the registry (public-facts 3.2); absent when it keeps its own. */
  status?: string;
  /** Status when only a part of the pack is meant (`sold_part` below 1); absent when it keeps its own. */
  partStatus?: string;
  /** Where the item then is or goes: the place of the document's subject or counterparty. */
  place?: 'subject' | 'counterparty';
  /**
   * `packed`: goes into the document's container. `taken_out`: is in no container any more, if it was in one; so also
   * for what is moved, sold or withdrawn by itself, because a document names only the outermost unit. `opened`: this
   * SSCC releases what it held.
   */
  containment?: 'packed' | 'taken_out' | 'opened';
}

const keepsAll: TypeEffect = {};
const shipped: TypeEffect = { status: 'in_realization', place: 'counterparty', containment: 'taken_out' };
const inStock: TypeEffect = { status: 'in_circulation', place: 'subject' };
const received: TypeEffect = { ...inStock, containment: 'taken_out' };
const awaitsSupplier: TypeEffect = { status: 'waiting_confirmation', place: 'subject', containment: 'taken_out' };
const backAtShipper: TypeEffect = { status: 'in_circulation', place: 'counterparty' };
const sold: TypeEffect = { status: 'in_sale', partStatus: 'in_partial_sale', containment: 'taken_out' };
const dispensed: TypeEffect = {
  status: 'in_discount_prescription_sale',
  partStatus: 'in_partial_discount_prescription_sale',
  containment: 'taken_out',
};
const used: TypeEffect = { status: 'in_medical_use', partStatus: 'in_partial_medical_use', containment: 'taken_out' };
const withdrawn: TypeEffect = { status: 'out_of_circulation', containment: 'taken_out' };

/** Document type -> effect (public-facts 2.5 and 3.2). A notification does what the document of the other side did. */
export const EFFECT_TABLE: Readonly<Record<number, TypeEffect>> = {
  // Production
  10311: { status: 'marked', place: 'subject' },
  313: inStock,

  // Between companies: 415 leaves goods awaiting the receiver, 416 awaiting the supplier; 701 and 607 settle it.
  415: shipped,
  416: awaitsSupplier,
  417: shipped,
  // An SSCC is accepted only whole, so an SGTIN that is accepted by itself was shipped by itself.
  701: received,
  702: received,
  // The sender took its shipment back, or the receiver refused it: the goods stand where they came from.
  251: inStock,
  252: backAtShipper,
  // It recalls an operation by its id and lists no items; the transfer knows which.
  250: keepsAll,

  // Between own places
  431: { status: 'in_circulation', place: 'counterparty', containment: 'taken_out' },

  // Leaving circulation, and coming back
  511: sold,
  521: dispensed,
  531: used,
  542: { status: 'disposed', containment: 'taken_out' },
  552: withdrawn,
  391: inStock,

  // Containers
  911: { containment: 'packed' },
  912: { containment: 'opened' },
  913: { containment: 'taken_out' },
  914: { containment: 'packed' },

  // Questions change nothing.
  210: keepsAll,
  220: keepsAll,

  // Notifications
  601: shipped,
  602: awaitsSupplier,
  605: inStock,
  606: backAtShipper,
  607: received,
  617: keepsAll,
};

/**
 * Types that registrars and tills alone send (public-facts 2.2), which change packs of ours all the same. What 10319,
 * 10501 and 10502 carry is not public: 10319 is taken for what 10311 is, the others for withdrawals.
 */
export const FOREIGN_EFFECT_TABLE: Readonly<Record<number, TypeEffect>> = {
  10319: { status: 'marked', place: 'subject' },
  10501: withdrawn,
  10502: withdrawn,
  10511: sold,
  10522: dispensed,
  10521: dispensed,
  10531: used,
};
