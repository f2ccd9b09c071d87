import type { JsonObject } from '#kernel';

/** What the product reads out of a document's XML, and nothing more than that. Streaming; never keeps the text. */
export interface DocumentFacts {
  /** Scheme number, for example 415, as the `action_id` attribute says. */
  docType: number;
  /** Name of the action element, for example `move_order`. */
  element: string;
  schemaVersion: string;
  /** The place (14 digits) or system id (UUID) that speaks. */
  subjectId: string;
  /** receiver_id, shipper_id or counterparty_id, whichever the type has. */
  counterpartyId?: string;
  /** ISO 8601 with the zone as written. */
  operationDate: string;
  docNum?: string;
  /** As written: DD.MM.YYYY. */
  docDate?: string;
  /**
   * SGTINs and SSCCs in document order, with the container that the document itself puts them in or names them under
   * (911, 914, 915).
   */
  items: DocumentItem[];
  /** Scalar children of the action element by name, for display and for types without a field of their own here. */
  fields: Record<string, string>;
}

export interface DocumentItem {
  kind: 'sgtin' | 'sscc';
  id: string;
  /** The SSCC that the document packs this item into. */
  into?: string;
  /** Attributes of the row: cost, vat_value, sold_part, withdrawal_part ... as written. */
  detail?: Record<string, string>;
}

/** A receipt (scheme 200; public-facts 2.3). */
export interface ReceiptFacts {
  operation: string;
  operationId: string;
  result: 'accepted' | 'partial' | 'rejected';
  /** ISO 8601, UTC, ending in Z; the fraction of the second as the registry wrote it. */
  acceptedAt: string;
  comment?: string;
  warnings: string[];
  errors: { code: string; text: string; objectId?: string }[];
}

/**
 * An ERP's document without XML: `action_id`, then the children of the action element by name; arrays repeat an
 * element.
 */
export type DocumentJson = JsonObject & { action_id: number };

/** What became of one item of a concluded document. */
export type ItemResult = 'applied' | 'refused' | 'undetermined';

export interface ItemEffect {
  item: DocumentItem;
  result: ItemResult;
  errorCode?: string;
  errorText?: string;
  /**
   * Registry status that the item has by this document, for example `in_circulation`; absent when it keeps its own or
   * nothing was applied.
   */
  status?: string;
  /** Where the item now stands or goes, when the document says so. */
  place?: string;
  /** Change of containment, implicit ones included. */
  containment?:
    | { kind: 'packed'; into: string }
    | { kind: 'taken_out' }
    | { kind: 'opened' /** this SSCC released its content */; recursive?: true /** and so did those within it */ };
}
