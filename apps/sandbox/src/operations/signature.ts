import { refuse } from '../http/refusal.js';
import type { UserOperation } from './call.js';
import { documentOf } from './reads.js';

const TAKES_TEXT = /(^|,)\s*(text\/(plain|\*)|\*\/\*)/;

/**
 * GET documents/{document_id}/signature: the signature as it came with the document, as text. A caller who takes no
 * text gets 406, as public clients did (public-facts 1.2).
 */
export const documentSignature: UserOperation = (registry, call) => {
  if (!TAKES_TEXT.test(call.headers.accept ?? '*/*')) throw refuse(406, 'the signature is text/plain');
  const document = documentOf(registry, call);
  const sign = document.noticeOf === undefined ? registry.journal.signature(document.journalAt) : undefined;
  if (sign === undefined) throw refuse(404, 'the document has no signature');
  return { status: 200, body: sign, contentType: 'text/plain;charset=UTF-8' };
};
