import { createHash } from 'node:crypto';
import { realOf } from '../clock/virtual-time.js';
import { drawFate, giveFate, processingMsOf } from '../documents/fate.js';
import type { RegistryDocument } from '../documents/document.js';
import type { IntakeParts } from '../documents/parts.js';
import type { Place, RecordOf } from '../journal/journal.js';
import type { Account } from '../packs/world.js';
import { documentIdOf } from '../seeded.js';

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

export type UploadRecord = RecordOf<'large' | 'part' | 'restart' | 'finish'>;

/** What becomes of a document before and behind its upload. */
interface Around {
  /** The document of a record, which is not in the store yet. */
  sent(record: RecordOf<'large'>, at: Place): RegistryDocument;
  known(documentId: string): RegistryDocument;
  enqueue(document: RegistryDocument, digest: string): void;
}

/** Uploads by document_id; a finished one is gone from here. Journal first, then the state. */
export class Uploads {
  private readonly open = new Map<string, Upload>();

  constructor(
    private readonly registry: IntakeParts,
    private readonly around: Around,
  ) {}

  begin(opened: { account: Account; requestId: string; bulk: boolean; hash: string; sign: string }): RegistryDocument {
    const { account, requestId, bulk, hash, sign: s } = opened;
    const { settings, clock, journal, documents } = this.registry;
    const id = documentIdOf(requestId, settings.seed, documents.withRequestId(requestId).length);
    const sent = { id, r: requestId, a: account.name, v: clock.nowMs(), w: Date.now() };
    const record: RecordOf<'large'> = { k: 'large', ...sent, bulk, hash, s };
    return this.add(record, journal.append(record));
  }

  put({ documentId: id }: RegistryDocument, { at, total, bytes }: Part & { total: number }): void {
    this.write({ k: 'part', id, at, total, d: bytes.toString('base64') });
  }

  /** Forgets the parts: they do not make the document that was announced. */
  restart({ documentId: id }: RegistryDocument): void {
    this.write({ k: 'restart', id });
  }

  /** The document is whole: from here on it is as one that was sent. */
  finish({ documentId: id, seq }: RegistryDocument, { xml, digest }: { xml: Buffer; digest: string }): void {
    const { settings, clock, journal, faults } = this.registry;
    const v = clock.nowMs();
    const due = v + processingMsOf(settings, seq);
    const bytes = { h: digest, d: xml.toString('base64'), s: this.open.get(id)?.sign ?? '' };
    const record: RecordOf<'finish'> = { k: 'finish', id, v, w: Date.now(), due, ...drawFate(faults), ...bytes };
    this.close(record, journal.append(record), xml);
  }

  replay(record: UploadRecord, at: Place): void {
    if (record.k === 'large') this.add(record, at);
    else if (record.k === 'finish') this.close(record, at, Buffer.from(record.d, 'base64'));
    else this.take(record);
  }

  private write(record: RecordOf<'part' | 'restart'>): void {
    this.registry.journal.append(record);
    this.take(record);
  }

  private take(record: RecordOf<'part' | 'restart'>): void {
    const upload = this.open.get(record.id);
    if (upload === undefined) return;
    if (record.k === 'restart') return void Object.assign(upload, { parts: [], total: undefined });
    const part = { at: record.at, bytes: Buffer.from(record.d, 'base64') };
    upload.total = record.total;
    upload.parts = [...upload.parts.filter(({ at }) => at !== part.at), part].sort((a, b) => a.at - b.at);
  }

  private add(record: RecordOf<'large'>, at: Place): RegistryDocument {
    const document = this.around.sent(record, at);
    Object.assign(document, { waits: 'upload', dueVirtualMs: Infinity });
    this.registry.documents.add(document);
    this.open.set(record.id, { hash: record.hash, sign: record.s, total: undefined, parts: [] });
    return document;
  }

  private close(record: RecordOf<'finish'>, journalAt: Place, xml: Buffer): void {
    const document = this.around.known(record.id);
    this.end(record.id);
    const answeredRealMs = realOf(record.w);
    Object.assign(document, { journalAt, xml, waits: undefined, dueVirtualMs: record.due, answeredRealMs });
    giveFate(document, record);
    this.around.enqueue(document, record.h);
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

  /** The whole, or what is missing, in words: how long it is, its parts tell. */
  whole(documentId: string): Buffer | { missing: string } {
    const upload = this.open.get(documentId) as Upload;
    const length = upload.parts.reduce((sum, part) => sum + part.bytes.length, 0);
    if (upload.total === undefined) return { missing: 'no part of the document has come' };
    if (length < upload.total) return { missing: `${upload.total - length} bytes of the document are missing` };
    return Buffer.concat(upload.parts.map((part) => part.bytes));
  }

  end(documentId: string): void {
    this.open.delete(documentId);
  }
}

export const hexDigest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
