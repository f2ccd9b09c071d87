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
  /** What it says of series and expiry; absent when nothing. */
  series?: SeriesTold[];
}

/** The production batch of packs, and until when they may be used, as a document or an answer says. */
export interface SeriesTold {
  /** One pack, or a container with what it holds; absent: all that the document names. */
  item?: string;
  /** Only packs of this product. */
  gtin?: string;
  series?: string;
  /** YYYY-MM-DD. */
  expiresOn?: string;
}

interface Lot {
  gtin: string;
  series: string;
}

export interface DocumentItem {
  kind: 'sgtin' | 'sscc';
  id: string;
  /** The SSCC that the document packs this item into. */
  into?: string;
  /** What the document says that a container holds: series by GTIN. */
  lots?: Lot[];
  /** Attributes of the row: cost, vat_value, sold_part, withdrawal_part ... as written. */
  detail?: Record<string, string>;
}

/** A receipt (schemes 200 and 201; public-facts 2.3), or what answers a query in its place (211, 221; 2.4). */
export interface ReceiptFacts {
  operation: string;
  /** The request_id of the document; an answer to a query names none. */
  operationId?: string;
  /** The type of the query that it answers; a receipt answers none. */
  answers?: number;
  result: 'accepted' | 'partial' | 'rejected';
  /** ISO 8601, UTC, ending in Z; the fraction of the second as the registry wrote it. An answer to a query has none. */
  acceptedAt?: string;
  /** Of a very long one the beginning. */
  comment?: string;
  warnings: string[];
  errors: { code: string; text: string; objectId?: string }[];
  /** What an answer to a query says of series and expiry. */
  series?: SeriesTold[];
}

/**
 * An ERP's document without XML: `action_id`, then the children of the action element by name; arrays repeat an
 * element.
 */
export type DocumentJson = JsonObject & { action_id: number };

/** `place`: all that a place holds, of a document that names no item (432, 812). */
export type AffectedItem = Omit<DocumentItem, 'kind'> & { kind: DocumentItem['kind'] | 'place' };

/** What became of one item of a concluded document. */
type ItemResult = 'applied' | 'refused' | 'undetermined';

export interface ItemEffect {
  item: AffectedItem;
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
  /** Whose it then is: a place or system id; empty for nobody that is known. */
  owner?: string;
  /** Who then answers for it, in the same way. */
  holder?: string;
  /** How much of the pack is meant, as written: a/b. */
  part?: string;
  /** The earlier document or receipt that it corrects, as it names it. */
  corrects?: string;
  /** What the document says of the item, whatever it does to it; absent when it was refused. */
  series?: string;
  /** As written: DD.MM.YYYY. */
  expiry?: string;
  /** Code of the money that paid for it. */
  funding?: string;
  /** Of a container: series by GTIN. */
  lots?: Lot[];
  /** Change of containment, implicit ones included. */
  containment?:
    | { kind: 'packed'; into: string }
    | { kind: 'taken_out' }
    | { kind: 'opened' /** this SSCC released its content */; recursive?: true /** and so did those within it */ };
}
