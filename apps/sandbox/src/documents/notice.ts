import { zonedInstant } from '../clock/dates.js';
import { undoneBy, type ReceiptError, type RegistryDocument } from './document.js';
import { escape } from './receipt.js';

/** A notification that the system owes to a participant. */
export interface Notice {
  id: string;
  origin: RegistryDocument;
  /** Key of the participant. */
  to: string;
  docType: number;
  atVirtualMs: number;
}

interface NoticeRow {
  docType: number;
  from: string;
  element: string;
  /** Fields that the notification does not have. */
  without?: string;
}

const told = (docType: number, from: string, element = `${from}_notification`): NoticeRow => ({
  docType,
  from,
  element,
});

/**
 * Document type -> the notification that its counterparty gets: the same body under another name (public-facts 2.2,
 * 2.5).
 */
export const NOTICES: Record<number, NoticeRow> = {
  415: told(601, 'move_order'),
  416: told(602, 'receive_order'),
  381: told(603, 'move_owner'),
  251: told(605, 'refusal_sender'),
  252: told(606, 'refusal_receiver'),
  701: told(607, 'accept'),
  351: told(609, 'change_owner'),
  417: { ...told(610, 'move_return'), without: 'turnover_type' },
  442: told(611, 'receive_unregistered_order', 'receive_unregistered_notification'),
  471: told(612, 'state_dispatch'),
  331: told(613, 'foreign_shipment'),
  332: told(614, 'foreign_import'),
  361: told(615, 'eeu_shipment'),
  362: told(616, 'eeu_import'),
  314: told(618, 'move_to_release'),
  472: told(619, 'agent_dispatch'),
  336: told(620, 'import_info'),
  481: told(621, 'arbitration'),
  315: told(622, 'return_contract_production'),
  254: told(623, 'change_property'),
  473: told(624, 'agent_acceptance'),
  337: told(625, 'return_import'),
  431: told(629, 'move_place'),
  470: told(630, 'move_state_dispatch'),
};
/** Told to the sender of a 416 about what was wrong with it. */
export const ORDER_ERRORS = 617;

/**
 * The notification about a document, made of the document's own bytes and verdict, so that every reading gives the same
 * bytes.
 */
export function noticeXml(origin: RegistryDocument, { docType, xml }: { docType: number; xml: Buffer }): Buffer {
  const errors = origin.verdict?.kind === 'receipt' ? origin.verdict.errors : [];
  if (docType === ORDER_ERRORS) return Buffer.from(orderErrors(origin, errors));
  const row = NOTICES[origin.docType ?? 0];
  if (row === undefined) throw new Error(`no notification is made of a ${origin.docType}`);
  const renamed = xml
    .toString('utf8')
    .replace(
      new RegExp(`<${row.from}(\\s[^>]*?)action_id\\s*=\\s*["']${origin.docType}["']`),
      `<${row.element}$1action_id="${row.docType}"`,
    )
    .replace(new RegExp(`</${row.from}\\s*>`), `</${row.element}>`)
    .replace(new RegExp(`<${row.without ?? ' '}>[^<]*</${row.without ?? ' '}>`), '');
  return Buffer.from(withoutItems(renamed, undoneBy(origin.verdict)));
}

const PRICED = /<union>.*?<\/union>\s*/gs;
const SIGN = /<(sgtin|sscc)>\s*([^<\s]*)\s*<\/\1>\s*/g;

/** What the document did not do is not told of. */
function withoutItems(xml: string, ids: Set<string>): string {
  if (ids.size === 0) return xml;
  const names = (text: string) => ids.has([...text.matchAll(SIGN)][0]?.[2] ?? '');
  if (xml.includes('<union>')) return xml.replace(PRICED, (union) => (names(union) ? '' : union));
  return xml.replace(SIGN, (sign, _name, id: string) => (ids.has(id) ? '' : sign));
}

function orderErrors(origin: RegistryDocument, errors: ReceiptError[]): string {
  const rows = errors.map(({ code, text, objectId }) => {
    const object = objectId === undefined ? '' : `<object_id>${escape(objectId)}</object_id>`;
    return `<errors><error_code>${escape(code)}</error_code><error_desc>${escape(text)}</error_desc>${object}</errors>`;
  });
  return (
    `<documents version="${escape(origin.version ?? '1.38')}">` +
    `<receive_order_errors_notification action_id="${ORDER_ERRORS}">` +
    `<subject_id>${escape(origin.subject ?? '')}</subject_id><shipper_id>${escape(origin.counterparty ?? '')}` +
    '</shipper_id>' +
    `<operation_date>${zonedInstant(origin.dueVirtualMs, '+03:00', 180)}</operation_date>` +
    `<order_details>${rows.join('')}</order_details></receive_order_errors_notification></documents>`
  );
}
