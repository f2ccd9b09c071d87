import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs } from '../../test/documents.js';
import { signAs } from '../../test/signer.js';

const hashOf = (xml: string) => createHash('sha256').update(xml).digest('hex');

describe.each(['interface-v1', 'mdlp'])('large documents under the profile %s', (profile) => {
  let client: TestClient;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-uploads-'));
    client = await TestClient.start({ profile, dataDir: folder });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const announce = async (xml: string, fields: Record<string, unknown> = {}): Promise<HttpAnswer> =>
    client.post(
      '/documents/send_large',
      { sign: signAs('main', Buffer.from(xml)), hash_sum: hashOf(xml), request_id: randomUUID(), ...fields },
      await client.headers(),
    );
  const put = async (link: string, body: Buffer, range?: string): Promise<HttpAnswer> =>
    client.http(link, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { ...(await client.headers()), ...(range === undefined ? {} : { 'content-range': range }) },
    });
  const finish = async (documentId: string): Promise<HttpAnswer> =>
    client.post('/documents/send_finished', { document_id: documentId }, await client.headers());
  const truth = async (requestId: string) =>
    (await client.control('GET', `/truth/documents?request_id=${requestId}`)).json.documents[0];

  it('tell their limit, go up in one piece, and are then processed as any other', async () => {
    expect((await client.get('/documents/doc_size')).json).toEqual({ doc_size: 1_048_576 });
    const xml = doc.accept(packs(1, 20));
    const requestId = randomUUID();
    const { json } = await announce(xml, { request_id: requestId });
    await client.advance(60_000);
    expect(await truth(requestId)).toMatchObject({ status: 'uploading', waits: 'upload' });
    expect((await put(json.link, Buffer.from(xml))).status).toBe(201);
    expect((await finish(json.document_id)).json).toEqual({ request_id: requestId });
    await client.advance(60_000);
    expect(await truth(requestId)).toMatchObject({ result: 'Accepted', sends: 1 });
    const { json: link } = await client.get(`/documents/download/${json.document_id}`);
    expect((await client.get(link.link)).text).toBe(xml);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
  });

  it('go up in parts, in any order, over a restart, a part twice', async () => {
    const bytes = Buffer.from(doc.accept(packs(1, 100)));
    const { json } = await announce(bytes.toString());
    const third = Math.ceil(bytes.length / 3);
    const part = (from: number, to: number) =>
      put(json.link, bytes.subarray(from, to), `bytes ${from}-${to - 1}/${bytes.length}`);
    expect((await part(2 * third, bytes.length)).status).toBe(201);
    expect((await part(0, third)).status).toBe(201);
    expect((await part(0, third)).status).toBe(201);
    expect((await finish(json.document_id)).json.error_description).toContain(
      `${third} bytes of the document are missing`,
    );
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder });
    json.link = `${client.sandbox.url}${new URL(json.link).pathname}`;
    expect((await part(third, 2 * third)).status).toBe(201);
    expect((await finish(json.document_id)).status).toBe(200);
    await client.advance(60_000);
    expect(await client.pack(pack(100))).toMatchObject({ owner: 'own' });
  });

  it('say that nothing has come yet, and guess no length', async () => {
    const { json } = await announce(doc.accept(packs(1, 2)));
    expect((await finish(json.document_id)).json.error_description).toContain('no part of the document has come');
  });

  it('refuse what does not fit, and stay open for what does', async () => {
    const xml = doc.accept([pack(1)]);
    const { json } = await announce(xml);
    const bytes = Buffer.from(xml);
    expect((await put(json.link, bytes, 'bytes 0-1/9')).status).toBe(400);
    expect((await put(json.link, bytes, 'all of it')).status).toBe(400);
    expect((await put(json.link, Buffer.alloc(0))).status).toBe(400);
    expect((await put(json.link, bytes, `bytes 0-${bytes.length - 1}/${64 << 20}`)).status).toBe(413);
    expect((await finish(json.document_id)).status).toBe(400);
    const wrong = Buffer.from(xml.replace('701', '702'));
    expect((await put(json.link, wrong)).status).toBe(201);
    expect((await finish(json.document_id)).json.error_description).toContain('hash_sum');
    expect((await put(json.link, bytes)).status).toBe(201);
    expect((await finish(json.document_id)).status).toBe(200);
    expect((await finish(json.document_id)).status).toBe(400);
    expect((await put(json.link, bytes)).status).toBe(400);
    for (const fields of [{ hash_sum: 'x' }, { request_id: 'x' }, { sign: undefined }])
      expect((await announce(xml, fields)).status).toBe(400);
    expect((await finish(randomUUID())).status).toBe(404);
  });

  it('cancelled while they go up, they are gone, after a restart too', async () => {
    const xml = doc.accept([pack(1)]);
    const requestId = randomUUID();
    const { json } = await announce(xml, { request_id: requestId });
    await put(json.link, Buffer.from(xml));
    const cancelled = await client.post(
      '/documents/cancel',
      { document_id: json.document_id, request_id: requestId },
      await client.headers(),
    );
    expect(cancelled.status).toBe(200);
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder });
    expect((await finish(json.document_id)).status).toBe(400);
    await client.advance(60_000);
    expect(await truth(requestId)).toMatchObject({
      cancelled: true,
      status: 'failed',
      reason: 'cancelled by its sender',
    });
    expect(await client.pack(pack(1))).toMatchObject({ touched: false });
  });

  it('a wrong signature over the whole is refused and counted', async () => {
    const xml = doc.accept([pack(1)]);
    const { json } = await announce(xml, { sign: signAs('main', Buffer.from('other')) });
    await put(json.link, Buffer.from(xml));
    expect((await finish(json.document_id)).status).toBe(400);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ bad_signature: 1 });
  });
});

describe('cancelling', () => {
  let client: TestClient;
  beforeEach(async () => {
    client = await TestClient.start({ processingMs: 100_000 });
  });
  afterEach(() => client.stop());

  const cancel = async (documentId: string, requestId: string, account = 'main'): Promise<HttpAnswer> =>
    client.post('/documents/cancel', { document_id: documentId, request_id: requestId }, await client.headers(account));

  it('takes back what nothing was done with', async () => {
    for (const [index, bulk] of [false, true].entries()) {
      const requestId = randomUUID();
      const { json } = await client.send(doc.accept([pack(index)]), { requestId, fields: { bulk_processing: bulk } });
      expect((await cancel(json.document_id, requestId)).status).toBe(200);
      expect((await cancel(json.document_id, requestId)).status).toBe(400);
      await client.advance(1_000_000);
      expect(await client.pack(pack(index))).toMatchObject({ touched: false });
      expect(await client.outcome(json.document_id)).toMatchObject({
        metadata: { status: 'FAILED' },
        receipt: undefined,
      });
    }
  });

  it('is too late once the document is in work, and is for the sender only', async () => {
    const requestId = randomUUID();
    const { json } = await client.send(doc.accept([pack(1)]), { requestId });
    expect((await cancel(json.document_id, requestId, 'north')).status).toBe(403);
    expect((await cancel(json.document_id, randomUUID())).status).toBe(404);
    expect((await cancel('x', requestId)).status).toBe(400);
    await client.advance(40_000);
    expect((await cancel(json.document_id, requestId)).status).toBe(400);
    await client.advance(1_000_000);
    expect(await client.pack(pack(1))).toMatchObject({ owner: 'own' });
  });
});

describe('the item limit of a document', () => {
  it('rejects one item too many with the reason, before anything is done', async () => {
    const client = await TestClient.start();
    try {
      const ids = Array.from({ length: 1501 }, (_, index) => String(index).padStart(18, '0'));
      const outcome = await client.process(doc.unitUnpack(ids));
      expect(outcome).toMatchObject({ result: 'Rejected', errors: ['46'] });
      expect(outcome.receipt).toContain('1501 of at most 1500');
    } finally {
      await client.stop();
    }
  });
});
