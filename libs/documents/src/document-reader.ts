import type { Sha256 } from '#kernel';
import type { DocumentFacts } from './port.js';
import { readDocument } from './read-document.js';

export interface DocumentReaderOptions {
  /** Most documents remembered; default 512. */
  maxDocuments?: number;
  /**
   * Most bytes of document text that the remembered facts may stand for (they can keep that text alive); default 8 MiB:
   * the facts of large documents take several times as much.
   */
  maxBytes?: number;
}

/**
 * Reads documents and remembers the newest facts by digest, because the same document is read at intake and again by
 * several projections seconds later. Facts are shared between callers: nobody may change them. Errors are not
 * remembered.
 */
export class DocumentReader {
  private readonly known = new Map<Sha256, { facts: DocumentFacts; byteLength: number }>();
  private readonly maxDocuments: number;
  private readonly maxBytes: number;
  private bytesKnown = 0;

  constructor(options: DocumentReaderOptions = {}) {
    this.maxDocuments = options.maxDocuments ?? 512;
    this.maxBytes = options.maxBytes ?? 8 * 1024 * 1024;
  }

  /**
   * The facts of the document whose bytes have this digest; the caller vouches for the digest. Throws as `readDocument`
   * does.
   */
  read(sha256: Sha256, bytes: Uint8Array): DocumentFacts {
    const known = this.peek(sha256);
    if (known !== undefined) return known;
    const facts = readDocument(bytes);
    this.known.set(sha256, { facts, byteLength: bytes.length });
    this.bytesKnown += bytes.length;
    this.forgetOldest();
    return facts;
  }

  /** The facts if they are remembered: then the bytes need not even be fetched. */
  peek(sha256: Sha256): DocumentFacts | undefined {
    const entry = this.known.get(sha256);
    if (entry === undefined) return undefined;
    // A Map keeps the order of insertion, so what was used last is put last.
    this.known.delete(sha256);
    this.known.set(sha256, entry);
    return entry.facts;
  }

  private forgetOldest(): void {
    for (const [sha256, { byteLength }] of this.known) {
      if (this.known.size <= this.maxDocuments && this.bytesKnown <= this.maxBytes) return;
      this.known.delete(sha256);
      this.bytesKnown -= byteLength;
    }
  }
}
