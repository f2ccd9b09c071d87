import { createHash } from 'node:crypto';
import { isUuid } from '#kernel';
import { whyCmsFails } from '../accounts/cms.js';
import { jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { Registry } from '../registry.js';
import type { UserCall, UserOperation } from './call.js';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * POST documents/send: takes a document, whatever is in it; only the envelope is checked (public-facts 2). The answer goes out
 * when the document is in the journal.
 */
export const send: UserOperation = (registry, call) => {
  const { profile } = registry;
  const body = jsonObjectOf(call.body);
  const requestId = body[profile.field('request_id')];
  if (typeof requestId !== 'string' || !isUuid(requestId)) throw refuse(400, 'request_id must be a GUID');
  const bulk = flag(body[profile.field('bulk_processing')]);
  const base64 = body[profile.field('document')];
  const xml = bytesOf(base64, 'document');
  if (xml.length > profile.rules.maxDocumentBytes) throw refuse(413, `the document is longer than ${profile.rules.maxDocumentBytes} bytes`);
  checkSignature(registry, call, { sign: body[profile.field('sign')], xml });
  refuseDuplicate(registry, call, requestId);
  if (registry.packs.packCount >= registry.settings.maxPacks) throw refuse(503, `the sandbox holds ${registry.settings.maxPacks} packs and takes no more`);
  const document = registry.accept({ account: call.account, requestId, bulk, xml, base64: base64 as string, digest: digestOf(xml) });
  return {
    ...jsonAnswer(200, { [profile.field('document_id')]: document.documentId }),
    answered: (realMs) => {
      document.answeredRealMs = realMs;
    },
  };
};

const digestOf = (xml: Buffer): string => createHash('sha256').update(xml).digest('base64url');

function bytesOf(value: unknown, name: string): Buffer {
  if (typeof value !== 'string' || value === '') throw refuse(400, `${name} is missing`);
  if (value.length % 4 !== 0 || !BASE64.test(value)) throw refuse(400, `${name} is no base64 without line breaks`);
  return Buffer.from(value, 'base64');
}

function checkSignature(registry: Registry, call: UserCall, { sign, xml }: { sign: unknown; xml: Buffer }): void {
  const about = { call: call.method, account: call.account.name };
  if (sign === undefined || sign === null || sign === '') {
    registry.violations.record('missing_signature', about);
    throw refuse(400, 'sign is missing');
  }
  const failure = whyCmsFails(bytesOf(sign, 'sign'), xml, call.account.certificate);
  if (failure === undefined) return;
  registry.violations.record('bad_signature', { ...about, note: failure });
  throw refuse(400, failure);
}

function refuseDuplicate(registry: Registry, call: UserCall, requestId: string): void {
  const [first] = registry.documents.withRequestId(requestId).filter((one) => one.sender === call.account.participant.key);
  if (first === undefined) return;
  registry.journal.append({ k: 'repeat', r: requestId });
  first.sends += 1;
  registry.violations.record('duplicate_request_id', { call: call.method, account: call.account.name, note: requestId });
  throw refuse(400, `a document with request_id ${requestId} was sent before`);
}

/** Two public clients send the flag as a text (public-facts 1.2). */
function flag(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 'false') return false;
  if (value === true || value === 'true') return true;
  throw refuse(400, 'bulk_processing must be true or false');
}
