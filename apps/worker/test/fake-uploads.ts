import type { CallOutcome, DocumentToSend, LargeDocuments, LargeSend } from '#registry-client';
import { badOutcome, rawOf, type BadOutcome, type FakeRegistry, type SendFate } from './fake-registry.js';

/** How the three kinds of call go, one after another; what is not told goes well. */
export interface UploadFates {
  announce?: SendFate[];
  part?: ('ok' | BadOutcome)[];
  finish?: SendFate[];
}

const PART_BYTES = 40;
const badKind = (fate: SendFate): BadOutcome => (fate.startsWith('unknown') ? 'unknown' : (fate as BadOutcome));

/**
 * Large documents at the registry in memory: announced, uploaded in parts, and finished only when every byte of them is
 * there.
 */
export class FakeUploads implements Pick<LargeDocuments, 'step'> {
  /** Told of each end before anything of it is done. */
  beforeFinish: (document: DocumentToSend) => Promise<void> = () => Promise.resolve();
  readonly fates: Required<UploadFates>;
  /** Bytes of open uploads by document id. */
  private readonly bytes = new Map<string, Buffer>();

  constructor(
    private readonly registry: FakeRegistry,
    fates: UploadFates = {},
  ) {
    this.fates = {
      announce: [...(fates.announce ?? [])],
      part: [...(fates.part ?? [])],
      finish: [...(fates.finish ?? [])],
    };
  }

  step(_account: string, document: DocumentToSend, at: LargeSend): Promise<CallOutcome<LargeSend>> {
    this.registry.calls.push(at.next);
    if (at.next === 'announce') return this.announce(document);
    if (at.next === 'upload') return this.part(document, at);
    if (at.next === 'finish') return this.finish(document, at.documentId);
    throw new Error('nothing is next');
  }

  private async announce(document: DocumentToSend): Promise<CallOutcome<LargeSend>> {
    await this.registry.beforeSend(document);
    const fate = this.fates.announce.shift() ?? 'ok';
    if (fate === 'unknown_late') this.registry.landing.set(document.requestId, 'announced');
    if (fate !== 'ok' && fate !== 'unknown_taken') return badOutcome(badKind(fate));
    const documentId = this.registry.announce(document.requestId);
    return fate === 'ok'
      ? ok({ next: 'upload', documentId, link: linkOf(documentId), uploadedBytes: 0 })
      : badOutcome('unknown');
  }

  private async part(
    document: DocumentToSend,
    at: Extract<LargeSend, { next: 'upload' }>,
  ): Promise<CallOutcome<LargeSend>> {
    const fate = this.fates.part.shift() ?? 'ok';
    if (at.link !== linkOf(at.documentId)) throw new Error(`bytes go to ${at.link}`);
    if (fate !== 'ok') return badOutcome(fate);
    if (!this.registry.open.has(at.documentId)) return badOutcome('refused');
    const xml = Buffer.from(document.xml);
    const known = this.bytes.get(at.documentId) ?? Buffer.alloc(xml.length);
    const to = Math.min(at.uploadedBytes + PART_BYTES, xml.length);
    xml.copy(known, at.uploadedBytes, at.uploadedBytes, to);
    this.bytes.set(at.documentId, known);
    return ok(to === xml.length ? { next: 'finish', documentId: at.documentId } : { ...at, uploadedBytes: to });
  }

  private async finish(document: DocumentToSend, documentId: string): Promise<CallOutcome<LargeSend>> {
    await this.beforeFinish(document);
    const fate = this.fates.finish.shift() ?? 'ok';
    if (fate === 'unknown_late') this.registry.finishing.add(documentId);
    if (fate !== 'ok' && fate !== 'unknown_taken') return badOutcome(badKind(fate));
    if (!this.registry.open.has(documentId) || this.bytes.get(documentId)?.equals(document.xml) !== true)
      return badOutcome('refused');
    this.registry.finish(documentId, Buffer.from(document.xml));
    return fate === 'ok' ? ok({ next: 'nothing', documentId }) : badOutcome('unknown');
  }
}

/** The link is as the profile expects it, so that a lost one is found. */
const linkOf = (documentId: string): string => `/webdav/upload/${documentId}/${documentId}`;
const ok = (value: LargeSend): CallOutcome<LargeSend> => ({ kind: 'ok', value, raw: rawOf(JSON.stringify(value)) });
