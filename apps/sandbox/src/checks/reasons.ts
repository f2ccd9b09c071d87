import type { ReceiptError } from '../documents/document.js';

/**
 * Why the registry refuses an item or a document. Codes 2, 4 and 200 are known (public-facts 1.9, 5); the others are
 * the sandbox's own, since the real list is not public.
 */
export const REASONS = {
  pack_not_found: { code: '2', text: 'The pack is not registered' },
  container_not_found: { code: '2', text: 'The logistic unit is not registered' },
  not_owner: { code: '4', text: 'The operation is open to the current owner only' },
  wrong_status: { code: '10', text: 'The status of the pack does not allow the operation' },
  wrong_place: { code: '11', text: 'The pack is not at the place that the document names' },
  suspended: { code: '12', text: 'The circulation of the pack is suspended' },
  awaits_acceptance: { code: '13', text: 'The pack is shipped and awaits acceptance' },
  other_receiver: { code: '14', text: 'The pack awaits acceptance by another participant or place' },
  already_accepted: { code: '15', text: 'The pack was accepted before' },
  not_shipped: { code: '16', text: 'The pack is not shipped' },
  other_counterparty: { code: '17', text: 'The counterparty is not the one of the shipment' },
  not_shipped_by_you: { code: '18', text: 'The pack is not shipped from this place to that counterparty' },
  not_shipped_to_you: { code: '19', text: 'The pack is not shipped to this place by that counterparty' },
  inside_container: { code: '20', text: 'The item is inside a logistic unit' },
  container_in_use: { code: '21', text: 'The SSCC was used before' },
  container_unpacked: { code: '22', text: 'The logistic unit was unpacked' },
  container_nesting: { code: '23', text: 'Logistic units nest too deep or within themselves' },
  already_registered: { code: '24', text: 'The pack is registered already' },
  wrong_gtin: { code: '25', text: 'The pack is of another GTIN than the document' },
  wrong_part: { code: '26', text: 'The part exceeds what is left of the pack' },
  part_of_container: { code: '27', text: 'A part can be taken of a pack only' },
  malformed_item: { code: '28', text: 'The identifier is malformed' },
  not_in_container: { code: '29', text: 'The item is not inside a logistic unit' },
  no_items: { code: '30', text: 'The document names no items' },
  schema: { code: '40', text: 'The document does not match its schema' },
  subject_not_yours: { code: '41', text: 'The subject of the document is not a place of the sender' },
  unknown_counterparty: { code: '42', text: 'The counterparty is not registered' },
  counterparty_is_own: { code: '43', text: 'The counterparty is a place of the sender itself' },
  counterparty_not_own: { code: '44', text: 'The receiving place is not a place of the sender' },
  same_place: { code: '45', text: 'The receiving place is the sending place' },
  too_many_items: { code: '46', text: 'The document holds more items than its type allows' },
  wrong_version: { code: '47', text: 'The registry does not take documents of this version' },
  operation_not_found: { code: '60', text: 'The sender has no accepted operation of this type and id' },
  changed_since: { code: '61', text: 'Another operation has changed the pack since' },
  not_in_operation: { code: '62', text: 'The item is not of that operation' },
  receipt_not_found: { code: '63', text: 'No till sale of this receipt is known' },
  sscc_reserved: { code: '64', text: 'The SSCC is reserved by another participant' },
  sscc_not_reserved: { code: '65', text: 'The SSCC is not reserved by the sender' },
  bad_quality: { code: '66', text: 'The pack came back as of bad quality' },
  posted: { code: '67', text: 'The pack was received by posting (702) and cannot be returned' },
  identical: { code: '200', text: 'An identical document was sent before' },
  not_for_participants: { code: '99', text: 'Documents of this type come from the registry itself' },
} as const;

type ReasonName = keyof typeof REASONS;

/** A reason with what makes it concrete: the status met, the place, the inner pack. */
export interface Reason {
  name: ReasonName;
  detail?: string | undefined;
  /** The packs inside a listed container that it is about, each with its own reason. */
  inner?: { sgtin: string; reason: Reason }[];
}

/**
 * What an error names when a pack inside a listed container is wrong. All three occur in receipts (public-facts 2.3:
 * object_id is optional).
 */
export const INNER_ERRORS = ['container', 'pack', 'nothing'] as const;
export type InnerErrors = (typeof INNER_ERRORS)[number];

export const because = (name: ReasonName, detail?: string): Reason => ({ name, detail });

/** The errors of one listed item: about itself, about the packs inside it, or about nothing that could be looked up. */
export function itemErrors(reason: Reason, objectId: string, innerErrors: InnerErrors): ReceiptError[] {
  const [first] = reason.inner ?? [];
  if (first === undefined) return [receiptError(reason, objectId)];
  if (innerErrors === 'pack') return (reason.inner ?? []).map((one) => receiptError(one.reason, one.sgtin));
  if (innerErrors === 'nothing') return [receiptError(first.reason)];
  const { name, detail } = first.reason;
  return [receiptError(because(name, detail === undefined ? first.sgtin : `${detail}, ${first.sgtin}`), objectId)];
}

export function receiptError(reason: Reason, objectId?: string): ReceiptError {
  const { code, text } = REASONS[reason.name];
  const error: ReceiptError = { code, text: reason.detail === undefined ? text : `${text}: ${reason.detail}` };
  return objectId === undefined ? error : { ...error, objectId };
}
