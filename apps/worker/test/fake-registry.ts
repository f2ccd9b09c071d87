import { systemClock } from '#kernel';
import type {
  CallOutcome,
  DocumentMetadata,
  DocumentPage,
  DocumentStatus,
  DocumentToSend,
  RawAnswer,
  RegistryClient,
} from '#registry-client';

/**
 * How a send goes. `unknown_*`: no answer came, and the document is there, never arrives, or arrives after the first
 * look-up.
 */
export type SendFate =
  'ok' | 'refused' | 'not_found' | 'rate_limited' | 'not_sent' | 'unknown_taken' | 'unknown_lost' | 'unknown_late';

export type CallName = 'documentStatus' | 'listOutgoing' | 'findByRequestId' | 'receipt' | 'downloadDocument';
export type BadOutcome = Exclude<CallOutcome<never>['kind'], 'ok'>;

export const rawOf = (text: string, httpStatus = 200): RawAnswer => ({
  httpStatus,
  contentType: 'application/json',
  body: Buffer.from(text),
  receivedMonotonicMs: 0,
  receivedAt: systemClock.now(),
});

/** An outcome other than `ok`, as the client would give it. */
export function badOutcome(kind: BadOutcome): CallOutcome<never> {
  switch (kind) {
    case 'refused':
      return { kind, code: 'no', text: 'the registry says no', raw: rawOf('{"error_code":"no"}', 400) };
    case 'not_found':
      return { kind, text: 'not found', raw: rawOf('{"error_code":"2"}', 404) };
    case 'rate_limited':
      return { kind, text: 'too many calls', raw: rawOf('{"error_description":"100 ms"}', 429) };
    case 'not_sent':
      return { kind, reason: 'ECONNREFUSED' };
    case 'unknown':
      return { kind, reason: 'HTTP 502', raw: rawOf('bad gateway', 502) };
  }
}

/**
 * A registry in memory that is told how each call goes. It knows what a real one would know: which documents it took,
 * and how often each was sent to it. It is no model of the interface; the sandbox is that.
 */
export class FakeRegistry implements RegistryClient {
  /** Registry document ids by request_id: what was taken. */
  readonly taken = new Map<string, string[]>();
  readonly calls: string[] = [];
  /** The registry's copies by its document ids. */
  readonly copies = new Map<string, Buffer>();
  private newestXml: Buffer = Buffer.alloc(0);
  /** What a document's status is when it is asked. */
  status: DocumentStatus = 'processed';
  /** The status of single documents, by document id. */
  readonly statusOf = new Map<string, DocumentStatus>();
  /** Receipts by request_id, where one does not say `Accepted`. */
  readonly receipts = new Map<string, Buffer>();
  /** Told of each send before anything of it is done. */
  beforeSend: (document: DocumentToSend) => Promise<void> = () => Promise.resolve();
  readonly fates: SendFate[];
  private readonly bad = new Map<CallName, BadOutcome[]>();
  /** By request_id: what lands after the next look-up. */
  readonly landing = new Map<string, 'sent' | 'announced'>();
  /**
   * Documents that lie there unprocessed: announced and not finished, or of a group not started; and those whose end
   * lands after the next look-up.
   */
  readonly open = new Set<string>();
  /** What those of a group that is not started show. */
  waitingStatus: DocumentStatus = 'uploading';
  readonly finishing = new Set<string>();
  /** What lands after the next status read. */
  afterNextStatus: (() => void) | undefined;

  constructor(fates: SendFate[] = []) {
    this.fates = [...fates];
  }

  /** The next calls of this name end so, one after another. */
  fail(name: CallName, ...kinds: BadOutcome[]): void {
    this.bad.set(name, [...(this.bad.get(name) ?? []), ...kinds]);
  }

  sign(): Promise<Buffer> {
    return Promise.resolve(Buffer.from('signature'));
  }

  signerCertificate(): Buffer {
    return Buffer.from('certificate');
  }

  signerChain(): Buffer {
    return Buffer.from('chain');
  }

  /** Set while nobody can sign in. */
  notReady: string | undefined;

  prepare(): Promise<{ kind: 'ready' } | { kind: 'not_ready'; reason: string }> {
    return Promise.resolve(
      this.notReady === undefined ? { kind: 'ready' } : { kind: 'not_ready', reason: this.notReady },
    );
  }

  async sendDocument(_account: string, document: DocumentToSend): Promise<CallOutcome<{ documentId: string }>> {
    this.calls.push('sendDocument');
    await this.beforeSend(document);
    this.newestXml = Buffer.from(document.xml);
    const fate = this.fates.shift() ?? 'ok';
    // A member of a group lies there as `uploading` until its group is started.
    const take = (): string =>
      document.bulkProcessing === true ? this.announce(document.requestId) : this.take(document.requestId);
    switch (fate) {
      case 'ok':
        return { kind: 'ok', value: { documentId: take() }, raw: rawOf('{"document_id":"…"}') };
      case 'unknown_taken':
        take();
        return badOutcome('unknown');
      case 'unknown_late':
        this.landing.set(document.requestId, document.bulkProcessing === true ? 'announced' : 'sent');
        return badOutcome('unknown');
      case 'unknown_lost':
        return badOutcome('unknown');
      case 'refused':
      case 'not_found':
      case 'rate_limited':
      case 'not_sent':
        return badOutcome(fate);
    }
  }

  async findByRequestId(_account: string, requestId: string): Promise<CallOutcome<DocumentMetadata[]>> {
    const bad = this.next('findByRequestId');
    if (bad !== undefined) return bad;
    const found = (this.taken.get(requestId) ?? []).map((documentId) => this.metadata(documentId, requestId));
    const landed = this.landing.get(requestId);
    this.landing.delete(requestId);
    if (landed === 'sent') this.take(requestId);
    if (landed === 'announced') this.announce(requestId);
    for (const { documentId } of found) if (this.finishing.delete(documentId)) this.open.delete(documentId);
    return { kind: 'ok', value: found, raw: rawOf(JSON.stringify(found)) };
  }

  async documentStatus(_account: string, documentId: string): Promise<CallOutcome<DocumentMetadata>> {
    const bad = this.next('documentStatus');
    if (bad !== undefined) return bad;
    const value = this.metadata(documentId);
    this.afterNextStatus?.();
    this.afterNextStatus = undefined;
    return { kind: 'ok', value, raw: rawOf(value.status) };
  }

  async listOutgoing(_account: string, query: { documentIds?: string[] }): Promise<CallOutcome<DocumentPage>> {
    const bad = this.next('listOutgoing');
    if (bad !== undefined) return bad;
    const known = new Set([...this.taken.values()].flat());
    const documents = (query.documentIds ?? []).filter((id) => known.has(id)).map((id) => this.metadata(id));
    return { kind: 'ok', value: { documents, total: documents.length }, raw: rawOf(JSON.stringify(documents)) };
  }

  async receipt(_account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>> {
    const bad = this.next('receipt');
    if (bad !== undefined) return bad;
    const requestId = [...this.taken].find(([, ids]) => ids.includes(documentId))?.[0] ?? 'nobody';
    return {
      kind: 'ok',
      value: { xml: this.receipts.get(requestId) ?? receiptXml(requestId) },
      raw: rawOf('{"link":"…"}'),
    };
  }

  listIncoming(): Promise<never> {
    return Promise.reject(new Error('nobody lists incoming documents here'));
  }

  async downloadDocument(_account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>> {
    const xml = this.copies.get(documentId);
    return (
      this.next('downloadDocument') ??
      (xml === undefined ? badOutcome('not_found') : { kind: 'ok', value: { xml }, raw: rawOf('{"link":"…"}') })
    );
  }

  sessions(): [] {
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A document that the registry has, however it came there. */
  take(requestId: string): string {
    const ids = this.taken.get(requestId) ?? [];
    const documentId = `${requestId.slice(0, 24)}${String(ids.length).padStart(12, '0')}`;
    this.taken.set(requestId, [...ids, documentId]);
    this.copies.set(documentId, this.newestXml);
    return documentId;
  }

  /** A large document whose bytes are awaited, or a member whose group is. */
  announce(requestId: string): string {
    const documentId = this.take(requestId);
    this.open.add(documentId);
    return documentId;
  }

  finish(documentId: string, xml: Buffer): void {
    this.open.delete(documentId);
    this.copies.set(documentId, xml);
  }

  private next(name: CallName): CallOutcome<never> | undefined {
    this.calls.push(name);
    const kind = this.bad.get(name)?.shift();
    return kind === undefined ? undefined : badOutcome(kind);
  }

  private metadata(documentId: string, requestId = ''): DocumentMetadata {
    const status = this.open.has(documentId) ? this.waitingStatus : (this.statusOf.get(documentId) ?? this.status);
    return { documentId, requestId, status, fields: {} };
  }
}

export const receiptXml = (operationId: string, result = 'Accepted'): Buffer =>
  Buffer.from(
    '<documents version="1.38"><result action_id="200" accept_time="2026-03-02T10:15:07+03:00">' +
      '<operation>701</operation>' +
      `<operation_id>${operationId}</operation_id><operation_result>${result}</operation_result></result></documents>`,
  );
