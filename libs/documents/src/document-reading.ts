import type { Sha256 } from '#kernel';
import { statusAfter } from './catalogue/effect.js';
import { DocumentReader } from './document-reader.js';
import { effectsOf, foreignEffectsOf } from './effects-of.js';
import { readForeignDocument } from './read-document.js';
import { readReceipt } from './read-receipt.js';

/**
 * What read models want of documents, as one object. Several of them read a document that has just concluded: what was
 * read by its digest is remembered between them (see `DocumentReader`).
 */
export function documentReading() {
  const reader = new DocumentReader();
  return {
    readDocument: (bytes: Uint8Array, sha256: Sha256) => reader.read(sha256, bytes),
    readReceipt,
    effectsOf,
    readForeignDocument,
    foreignEffectsOf,
    statusAfter,
  };
}
