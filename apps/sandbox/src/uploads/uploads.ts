import { createHash } from 'node:crypto';

interface Part {
  at: number;
  bytes: Buffer;
}

/** A large document on its way (public-facts 1.2, send_large). */
interface Upload {
  hash: string;
  sign: string;
  total: number | undefined;
  /** In the order of their places, without overlaps. */
  parts: Part[];
}

/** Longest document that may be uploaded. */
export const MAX_UPLOAD_BYTES = 32 << 20;
const MAX_PARTS = 10_000;

/** What is open, by document_id; a finished upload is gone from here. */
export class Uploads {
  private readonly open = new Map<string, Upload>();

  begin(documentId: string, { hash, sign }: { hash: string; sign: string }): void {
    this.open.set(documentId, { hash, sign, total: undefined, parts: [] });
  }

  get(documentId: string): Upload | undefined {
    return this.open.get(documentId);
  }

  /**
   * Why a part cannot be taken; undefined when it can. The same part may come again: a client that lost the answer
   * repeats it.
   */
  whyNot(documentId: string, { at, length, total }: { at: number; length: number; total: number }): string | undefined {
    const upload = this.open.get(documentId) as Upload;
    if (upload.total !== undefined && upload.total !== total)
      return `the whole was said to be ${upload.total} bytes long, now it is ${total}`;
    if (at + length > total) return `the part ends behind the whole of ${total} bytes`;
    if (upload.parts.length >= MAX_PARTS) return `more than ${MAX_PARTS} parts`;
    const overlapping = upload.parts.find((part) => at < part.at + part.bytes.length && part.at < at + length);
    if (overlapping === undefined || (overlapping.at === at && overlapping.bytes.length === length)) return undefined;
    return `the part overlaps the one at ${overlapping.at}`;
  }

  put(documentId: string, { at, total, bytes }: { at: number; total: number; bytes: Buffer }): void {
    const upload = this.open.get(documentId);
    if (upload === undefined) return;
    upload.total = total;
    upload.parts = [...upload.parts.filter((part) => part.at !== at), { at, bytes }].sort((a, b) => a.at - b.at);
  }

  /** The whole, or how many bytes are missing. */
  whole(documentId: string): Buffer | { missing: number } {
    const upload = this.open.get(documentId) as Upload;
    const length = upload.parts.reduce((sum, part) => sum + part.bytes.length, 0);
    if (upload.total === undefined || length < upload.total) return { missing: (upload.total ?? 1) - length };
    return Buffer.concat(upload.parts.map((part) => part.bytes));
  }

  /** Forgets the parts: they do not make the document that was announced. */
  restart(documentId: string): void {
    const upload = this.open.get(documentId);
    if (upload === undefined) return;
    upload.parts = [];
    upload.total = undefined;
  }

  end(documentId: string): void {
    this.open.delete(documentId);
  }
}

export const hexDigest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
