import { zonedInstant } from '../clock/dates.js';
import type { Profile } from '../profile.js';
import type { ReceiptError, RegistryDocument } from './document.js';
import { variedXml } from './varied-xml.js';

/**
 * The receipt ("ticket") of a document that has one: scheme 200 of public-facts 2.3. A pure function of the document,
 * so that every reading and every restart gives the same bytes.
 */
export function receiptXml(document: RegistryDocument, profile: Profile): Buffer | undefined {
  const { verdict } = document;
  if (verdict === undefined || verdict.kind === 'critical') return undefined;
  if (document.masked) return transientReceipt(document, profile);
  if (verdict.answer !== undefined) return Buffer.from(verdict.answer);
  const acceptTime = zonedInstant(document.dueVirtualMs, profile.zone, profile.zoneMinutes);
  const parts = [
    `<documents version="${escape(document.version ?? '1.38')}"><result action_id="200" accept_time="${acceptTime}">`,
    `<operation>${document.docType ?? ''}</operation>`,
    `<operation_id>${escape(document.requestId)}</operation_id>`,
    `<operation_result>${verdict.result}</operation_result>`,
    `<operation_comment>${escape(verdict.comment)}</operation_comment>`,
    ...verdict.errors.map(errorXml),
    '</result></documents>',
  ];
  return variedXml(Buffer.from(parts.join('')), document.documentId);
}

/** The comment by which public clients know that the answer will be another one later (public-facts 2.3). */
const NOT_PREPARED = 'ошибка на этапе подготовки ответа';

const transientReceipt = (document: RegistryDocument, profile: Profile): Buffer | undefined =>
  receiptXml(
    { ...document, masked: false, verdict: { kind: 'receipt', result: 'Rejected', comment: NOT_PREPARED, errors: [] } },
    profile,
  );

function errorXml(error: ReceiptError): string {
  const object = error.objectId === undefined ? '' : `<object_id>${escape(error.objectId)}</object_id>`;
  return (
    `<errors><error_code>${escape(error.code)}</error_code><error_desc>${escape(error.text)}</error_desc>${object}` +
    '</errors>'
  );
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// Characters that XML 1.0 cannot carry at all become the replacement character.
export const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ESCAPES[character] as string).replace(/[^\t\n\r\u0020-\ufffd]/g, '\ufffd');
