import { createHash } from 'node:crypto';
import { canonicalUuid, PedigreeError } from '#kernel';
import { countOf, doneOf, objectOf } from '../call/answers.js';
import { CHANGE, READ, READ_SURELY, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import type { CallOutcome, DocumentToSend, RawAnswer } from '../port.js';

/** How far a large document has come: plain data, to be kept between calls and processes. It names the next step. */
export type LargeSend =
  | { next: 'announce' }
  | { next: 'upload'; documentId: string; link: string; uploadedBytes: number }
  | { next: 'finish'; documentId: string }
  | { next: 'nothing'; documentId: string };

/**
 * Documents above the registry's size limit: announced, uploaded by link in parts, finished (public-facts 1.2); and the
 * calls that go with it. Each step is one call with a typed outcome. After an outcome other than `ok` the same
 * `LargeSend` holds: a part may be resent, since it names its place; `announce` and `finish` may not after `unknown`,
 * before a look-up by request_id (or a status read) has told that nothing was done.
 */
export class LargeDocuments {
  constructor(private readonly caller: Caller) {}

  /** Bytes up to which `send` takes a document; above it, it goes this way. */
  async sizeLimit(account: string): Promise<CallOutcome<{ maxBytes: number }>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<{ maxBytes: number }> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const size = countOf(json.value[profile.fields.doc_size], profile.fields.doc_size);
      return 'problem' in size ? size : { value: { maxBytes: size.value } };
    };
    return this.caller.call(account, 'document_size', { request: requests.plain('document_size'), manner: READ, read });
  }

  /** Takes back a document that is not processed yet. After `unknown` its status tells. */
  async cancel(account: string, document: { documentId: string; requestId: string }): Promise<CallOutcome<null>> {
    const { profile, requests } = this.caller;
    const { document_id: id, request_id: request } = profile.fields;
    const parts = requests.plain('cancel', {}, { [id]: document.documentId, [request]: document.requestId });
    return this.caller.call(account, 'cancel', { request: parts, manner: CHANGE, read: (raw) => doneOf(raw, profile) });
  }

  /**
   * Makes the one call that is next, and says what is next after it. @throws PedigreeError invalid_parameter when
   * nothing is.
   */
  async step(account: string, document: DocumentToSend, at: LargeSend): Promise<CallOutcome<LargeSend>> {
    switch (at.next) {
      case 'announce':
        return this.announce(account, document);
      case 'upload':
        return this.upload(account, document, at);
      case 'finish':
        return this.finish(account, document, at.documentId);
      case 'nothing':
        throw new PedigreeError('invalid_parameter', 'this document is sent', { item: document.requestId });
    }
  }

  /**
   * Goes on from where the document stands until it is sent, or until a step does not succeed.
   * @param keep Told after each step, before the next one: who keeps it, can go on after a crash.
   */
  async run(
    account: string,
    document: DocumentToSend,
    {
      from = { next: 'announce' },
      keep = () => Promise.resolve(),
    }: { from?: LargeSend; keep?: (at: LargeSend) => Promise<void> } = {},
  ): Promise<{ at: LargeSend; stopped?: Exclude<CallOutcome<LargeSend>, { kind: 'ok' }> }> {
    let at = from;
    // Announce, finish and a step per part, each of which must advance.
    const most = 2 + Math.ceil(document.xml.byteLength / this.caller.profile.rules.uploadPartBytes);
    for (let steps = 0; steps < most && at.next !== 'nothing'; steps += 1) {
      const outcome = await this.step(account, document, at);
      if (outcome.kind !== 'ok') return { at, stopped: outcome };
      at = outcome.value;
      await keep(at);
    }
    return { at };
  }

  private async announce(account: string, document: DocumentToSend): Promise<CallOutcome<LargeSend>> {
    const { profile, requests } = this.caller;
    const { fields } = profile;
    const parts = requests.plain(
      'send_large',
      {},
      {
        ...(document.signature === undefined ? {} : { [fields.sign]: document.signature.toString('base64') }),
        [fields.hash_sum]: createHash('sha256').update(document.xml).digest('hex'),
        [fields.request_id]: document.requestId,
        ...(document.bulkProcessing === undefined ? {} : { [fields.bulk_processing]: document.bulkProcessing }),
      },
    );
    const read = (raw: RawAnswer): Reading<LargeSend> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const { [fields.document_id]: documentId, [fields.link]: link } = json.value;
      if (typeof documentId !== 'string' || documentId === '')
        return { problem: `the answer has no text in "${fields.document_id}"` };
      if (typeof link !== 'string' || link === '') return { problem: `the answer has no text in "${fields.link}"` };
      return { value: { next: 'upload', documentId, link, uploadedBytes: 0 } };
    };
    return this.caller.call(account, 'send_large', {
      request: parts,
      manner: CHANGE,
      read,
      notAfterMonotonicMs: document.notAfterMonotonicMs,
    });
  }

  /** The next part. Where one part holds everything, it goes without a range, as simple clients send it. */
  private async upload(
    account: string,
    document: DocumentToSend,
    at: Extract<LargeSend, { next: 'upload' }>,
  ): Promise<CallOutcome<LargeSend>> {
    const total = document.xml.byteLength;
    const from = at.uploadedBytes;
    const to = Math.min(from + this.caller.profile.rules.uploadPartBytes, total);
    if (!Number.isInteger(from) || from < 0 || from >= total)
      throw new PedigreeError('invalid_parameter', `byte ${from} of ${total}`, {
        field: 'uploadedBytes',
        item: document.requestId,
      });
    const target = this.caller.link(at.link, 'upload_part');
    if ('problem' in target) return { kind: 'not_sent', reason: target.problem };
    const headers = {
      'content-type': 'application/xml',
      ...(to - from === total ? {} : { 'content-range': `bytes ${from}-${to - 1}/${total}` }),
    };
    const after: LargeSend =
      to === total ? { next: 'finish', documentId: at.documentId } : { ...at, uploadedBytes: to };
    return this.caller.call(account, 'upload_part', {
      request: { ...target.value, body: document.xml.subarray(from, to), headers },
      manner: READ_SURELY,
      read: () => ({ value: after }),
    });
  }

  private async finish(account: string, document: DocumentToSend, documentId: string): Promise<CallOutcome<LargeSend>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<LargeSend> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const requestId = json.value[profile.fields.request_id];
      return typeof requestId === 'string' && canonicalUuid(requestId) === canonicalUuid(document.requestId)
        ? { value: { next: 'nothing', documentId } }
        : { problem: `the answer is about request ${JSON.stringify(requestId ?? null)}` };
    };
    const request = requests.plain('send_finished', {}, { [profile.fields.document_id]: documentId });
    return this.caller.call(account, 'send_finished', {
      request,
      manner: CHANGE,
      read,
      notAfterMonotonicMs: document.notAfterMonotonicMs,
    });
  }
}
