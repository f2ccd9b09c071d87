import { canonicalUuid, isUuid } from '#kernel';
import type { RegistryDocument } from '../documents/document.js';
import { emptyAnswer, jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import { checkSignature, digestOf, envelopeOf, refuseDuplicate, signatureText } from '../operations/send.js';
import type { Registry } from '../registry.js';
import { hexDigest, MAX_UPLOAD_BYTES } from './uploads.js';

/** GET documents/doc_size: the longest body that `send` takes, in bytes. */
export const documentSize: UserOperation = ({ profile, settings }) =>
  jsonAnswer(200, { [profile.field('doc_size')]: settings.sendBytes });

/** POST documents/send_large: announces a document that is then uploaded to the link (public-facts 1.2). */
export const sendLarge: UserOperation = (registry, call) => {
  const { profile, body, requestId, bulk } = envelopeOf(registry, call);
  const hash = body[profile.field('hash_sum')];
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw refuse(400, 'hash_sum must be a SHA-256 in lower-case hex');
  const sign = signatureText(registry, call, body[profile.field('sign')]);
  refuseDuplicate(registry, call, requestId);
  const document = registry.intake.uploads.begin({ account: call.account, requestId, bulk, hash, sign });
  const link = `${call.base}/webdav/upload/${document.documentId}/${document.documentId}`;
  return jsonAnswer(200, { [profile.field('document_id')]: document.documentId, [profile.field('link')]: link });
};

const CONTENT_RANGE = /^bytes (\d{1,10})-(\d{1,10})\/(\d{1,10})$/;

/** PUT of the link: the whole document, or the part that Content-Range names. */
export const uploadPart: UserOperation = (registry, call) => {
  const document = openDocument(registry, call, call.params['document_id']);
  if (call.params['file'] !== document.documentId) throw refuse(404, 'there is no such file');
  if (call.body.length === 0) throw refuse(400, 'the body is missing');
  const part = partOf(call);
  if (part.total > MAX_UPLOAD_BYTES) throw refuse(413, `the document is longer than ${MAX_UPLOAD_BYTES} bytes`);
  const failure = registry.intake.uploads.whyNot(document.documentId, { ...part, length: call.body.length });
  if (failure !== undefined) throw refuse(400, failure);
  registry.intake.uploads.put(document, { ...part, bytes: call.body });
  return { ...emptyAnswer(), status: 201 };
};

function partOf(call: UserCall): { at: number; total: number } {
  const range = call.headers['content-range'];
  if (range === undefined) return { at: 0, total: call.body.length };
  const match = typeof range === 'string' ? CONTENT_RANGE.exec(range) : null;
  if (match === null) throw refuse(400, 'Content-Range must be of the form: bytes first-last/total');
  const [first, last, total] = match.slice(1).map(Number) as [number, number, number];
  if (last - first + 1 !== call.body.length)
    throw refuse(400, `Content-Range names ${last - first + 1} bytes, the body has ${call.body.length}`);
  return { at: first, total };
}

/** POST documents/send_finished: the upload is complete; from here on the document is processed as any other. */
export const sendFinished: UserOperation = (registry, call) => {
  const { profile } = registry;
  const { uploads } = registry.intake;
  const documentId = jsonObjectOf(call.body)[profile.field('document_id')];
  const document = openDocument(registry, call, typeof documentId === 'string' ? documentId : undefined);
  const upload = uploads.get(document.documentId);
  const xml = uploads.whole(document.documentId);
  if (upload === undefined || !Buffer.isBuffer(xml)) throw refuse(400, (xml as { missing: string }).missing);
  if (hexDigest(xml) !== upload.hash) {
    uploads.restart(document);
    throw refuse(400, 'the SHA-256 of the document is not its hash_sum; upload it again');
  }
  checkSignature(registry, call, { sign: upload.sign, xml });
  uploads.finish(document, { xml, digest: digestOf(xml) });
  return {
    ...jsonAnswer(200, { [profile.field('request_id')]: document.requestId }),
    answered: (realMs) => {
      document.answeredRealMs = realMs;
    },
  };
};

/** A document of the caller whose upload is open. */
function openDocument(registry: Registry, call: UserCall, documentId: string | undefined): RegistryDocument {
  const document =
    documentId === undefined ? undefined : registry.documents.visible(documentId, call.account.participant.key);
  if (document === undefined) throw refuse(404, 'there is no such document');
  if (document.account !== call.account.name) throw refuse(403, 'the document is uploaded by another user');
  if (document.waits !== 'upload' || document.cancelled) throw refuse(400, 'the upload of this document is closed');
  return document;
}

/** POST documents/cancel: takes a document back while nothing was done with it. */
export const cancel: UserOperation = (registry, call) => {
  const { profile } = registry;
  const body = jsonObjectOf(call.body);
  const documentId = body[profile.field('document_id')];
  const requestId = body[profile.field('request_id')];
  if (typeof documentId !== 'string' || !isUuid(documentId)) throw refuse(400, 'document_id must be a GUID');
  if (typeof requestId !== 'string' || !isUuid(requestId)) throw refuse(400, 'request_id must be a GUID');
  const now = registry.processing.drainNow();
  const document = registry.documents.visible(documentId, call.account.participant.key);
  const isMeant = document !== undefined && canonicalUuid(document.requestId) === canonicalUuid(requestId);
  if (!isMeant || document.account === undefined) throw refuse(404, 'there is no such document');
  if (document.account !== call.account.name) throw refuse(403, 'the document was sent by another user');
  if (document.cancelled) throw refuse(400, 'the document was cancelled before');
  if (!registry.intake.isUntouched(document, now))
    throw refuse(400, 'the document is in work or processed and cannot be cancelled');
  registry.intake.cancel(document);
  return emptyAnswer();
};
