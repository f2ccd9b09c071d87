import { createHash } from 'node:crypto';
import { isUuid } from '#kernel';
import { CERTIFICATE_EXPIRED, whyCertificateFails, whySignatureFails } from '../accounts/identity.js';
import { jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { Registry } from '../registry.js';
import type { UserCall, UserOperation } from './call.js';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** What stands around a document that is sent or announced. Throws a 400. */
export function envelopeOf(registry: Registry, call: UserCall) {
  const { profile } = registry;
  const body = jsonObjectOf(call.body);
  const requestId = body[profile.field('request_id')];
  if (typeof requestId !== 'string' || !isUuid(requestId)) throw refuse(400, 'request_id must be a GUID');
  return { profile, body, requestId, bulk: bulkFlag(registry, call, body[profile.field('bulk_processing')]) };
}

/**
 * POST documents/send: takes a document, whatever is in it; only the envelope is checked (public-facts 2). The answer
 * goes out when the document is in the journal.
 */
export const send: UserOperation = (registry, call) => {
  const { profile, body, requestId, bulk } = envelopeOf(registry, call);
  const base64 = body[profile.field('document')];
  const xml = bytesOf(base64, 'document');
  const sign = signatureText(registry, call, body[profile.field('sign')]);
  checkSignature(registry, call, { sign, xml });
  refuseDuplicate(registry, call, requestId);
  if (registry.packs.packCount >= registry.settings.maxPacks)
    throw refuse(503, `the sandbox holds ${registry.settings.maxPacks} packs and takes no more`);
  const document = registry.intake.accept({
    account: call.account,
    requestId,
    bulk,
    xml,
    base64: base64 as string,
    digest: digestOf(xml),
    sign,
    isLate: call.late === true,
  });
  return {
    ...jsonAnswer(200, { [profile.field('document_id')]: document.documentId }),
    answered: (realMs) => {
      document.answeredRealMs = realMs;
    },
  };
};

export const digestOf = (xml: Buffer): string => createHash('sha256').update(xml).digest('base64url');

/** Throws a 400: clients take the line breaks out (public-facts 1.1). */
export function bytesOf(value: unknown, name: string): Buffer {
  if (typeof value !== 'string' || value === '') throw refuse(400, `${name} is missing`);
  if (value.length % 4 !== 0 || !BASE64.test(value)) throw refuse(400, `${name} is no base64 without line breaks`);
  return Buffer.from(value, 'base64');
}

/**
 * The signature as it stands in the body; refused and counted when there is none. A user without a certificate omits
 * it or sends null (public-facts 1): then it is empty.
 */
export function signatureText(registry: Registry, call: UserCall, sign: unknown): string {
  if (call.account.certificate === undefined) {
    if (sign === undefined || sign === null || sign === '') return '';
    throw refuse(400, 'sign must be omitted: this user signs in by password');
  }
  if (sign === undefined || sign === null || sign === '') {
    registry.violations.record('missing_signature', { call: call.method, account: call.account.name });
    throw refuse(400, 'sign is missing');
  }
  bytesOf(sign, 'sign');
  return sign as string;
}

/** Throws a 400 when the signature is not the user's over these bytes, or his certificate has ended, and counts it. */
export function checkSignature(registry: Registry, call: UserCall, { sign, xml }: { sign: string; xml: Buffer }): void {
  if (call.account.certificate === undefined) return;
  const failure =
    whySignatureFails(call.account, bytesOf(sign, 'sign'), xml) ?? whyCertificateFails(call.account, Date.now());
  if (failure === undefined) return;
  registry.violations.record('bad_signature', { call: call.method, account: call.account.name, note: failure });
  throw refuse(400, failure, failure === CERTIFICATE_EXPIRED ? 'certificate_expired' : undefined);
}

/** Counts a request_id that the participant sent before, and throws a 400 unless the settings take it once more. */
export function refuseDuplicate(registry: Registry, call: UserCall, requestId: string): void {
  const [first] = registry.documents
    .withRequestId(requestId)
    .filter((one) => one.sender === call.account.participant.key);
  if (first === undefined) return;
  // A send that the sandbox itself held back is not the client's second one.
  if (call.late !== true) {
    registry.journal.append({ k: 'repeat', r: requestId });
    first.sends += 1;
    registry.violations.record('duplicate_request_id', {
      call: call.method,
      account: call.account.name,
      note: requestId,
    });
  }
  if (registry.settings.repeatedRequestId === 'refuse')
    throw refuse(400, `a document with request_id ${requestId} was sent before`, 'registered_already');
}

/** Two public clients send the flag as a text (public-facts 1.2): it is taken, and counted. */
function bulkFlag(registry: Registry, call: UserCall, value: unknown): boolean {
  if (typeof value === 'string')
    registry.violations.record('flag_as_text', {
      call: call.method,
      account: call.account.name,
      note: JSON.stringify(value).slice(0, 40),
    });
  if (value === undefined || value === null || value === false || value === 'false') return false;
  if (value === true || value === 'true') return true;
  throw refuse(400, 'bulk_processing must be true or false');
}
