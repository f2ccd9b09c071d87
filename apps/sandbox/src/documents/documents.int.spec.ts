import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';

describe('documents: sending, status, receipts, lists', () => {
  let client: TestClient;

  beforeAll(async () => {
    client = await TestClient.start({ processingMs: 10_000 });
  });
  afterAll(() => client.stop());

  const truth = async (requestId: string) =>
    (await client.control('GET', `/truth/documents?request_id=${requestId}`)).json.documents;

  it('goes through its statuses on the virtual clock, and its receipt repeats the request_id', async () => {
    const requestId = randomUUID();
    const xml = doc.accept([pack(1)]);
    const { json } = await client.send(xml, { requestId });
    const shown = async () => (await client.get(`/documents/${json.document_id}`)).json.status;
    expect(await shown()).toBe('UPLOADING_DOCUMENT');
    expect((await client.get(`/documents/${json.document_id}/ticket`)).status).toBe(404);
    await client.advance(4_000);
    expect(await shown()).toBe('PROCESSING_DOCUMENT');
    await client.advance(12_000);
    const outcome = await client.outcome(json.document_id);
    expect(outcome.metadata).toMatchObject({
      status: 'PROCESSED',
      doc_type: 701,
      request_id: requestId,
      version: '1.38',
      sender: doc.PLACES.warehouse,
    });
    expect(outcome.receipt).toMatch(
      /<documents [^>]*version="1.38">\s*<result action_id="200" accept_time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+03:00">\s*<operation>701<\/operation>/,
    );
    expect(outcome.receipt).toMatch(
      new RegExp(`<operation_id>${requestId}</operation_id>\\s*<operation_result>Accepted</operation_result>`),
    );
    const { json: link } = await client.get(`/documents/download/${json.document_id}`);
    expect((await client.get(link.link)).text).toBe(xml);
    expect((await client.http(link.link)).status).toBe(401);
    expect(await truth(requestId)).toMatchObject([
      { status: 'processed', result: 'Accepted', sends: 1, account: 'main', document_id: json.document_id },
    ]);
  });

  it('names the line when a document does not match its schema', async () => {
    const xml = doc.accept([pack(2)]).replace('<order_details>', '\n<mistake>1</mistake>\n<order_details>');
    const outcome = await client
      .send(xml)
      .then(async ({ json }) => (await client.advance(20_000), client.outcome(json.document_id)));
    expect(outcome).toMatchObject({ result: 'Rejected', errors: ['40'] });
    expect(outcome.receipt).toContain('line 2:');
    expect(await client.pack(pack(2))).toMatchObject({ touched: false });
  });

  it.each([
    ['garbage', 'no document at all', 'well-formed'],
    ['cut XML', doc.accept([pack(3)]).slice(0, -20), 'well-formed'],
    ['no version', doc.accept([pack(3)]).replace(' version="1.38"', ''), 'version is missing'],
    ['an unknown action', doc.envelope(4711, 'party', '<subject_id>1</subject_id>'), 'document type not determined'],
    ['an action under another number', doc.accept([pack(3)]).replace('"701"', '"415"'), 'document type not determined'],
    ['a DOCTYPE', `<!DOCTYPE documents [<!ENTITY a "b">]>${doc.accept([pack(3)])}`, 'DOCTYPE'],
    ['an entity', doc.accept([pack(3)]).replace('<order_details>', '<order_details>&bomb;'), 'well-formed'],
    ['bytes that are no UTF-8', Buffer.from([0x3c, 0x61, 0xff, 0x3e]), 'UTF-8'],
  ])('%s ends FAILED without a receipt', async (_what, xml, reason) => {
    const requestId = randomUUID();
    const { status, json } = await client.send(xml, { requestId });
    expect(status).toBe(200);
    await client.advance(20_000);
    expect(await client.outcome(json.document_id)).toMatchObject({
      metadata: { status: 'FAILED', processing_document_status: 'TECH_ERROR' },
      receipt: undefined,
    });
    expect(await truth(requestId)).toMatchObject([{ status: 'failed', reason: expect.stringContaining(reason) }]);
    expect(await client.pack(pack(3))).toMatchObject({ touched: false });
  });

  it('a version that the profile does not name is rejected with a receipt that says which are', async () => {
    const { json } = await client.send(doc.accept([pack(3)]).replace('1.38', '0.99'));
    await client.advance(20_000);
    const { metadata, receipt } = await client.outcome(json.document_id);
    expect(metadata).toMatchObject({ status: 'FAILED_RESULT_READY', processing_document_status: 'REJECTED' });
    expect(receipt).toContain('0.99 is none of 1.34, 1.35, 1.36, 1.37, 1.38');
    expect((await client.send(doc.accept([pack(3)]).replace('1.38', '1.34'))).status).toBe(200);
  });

  it('processes the same bytes once: the one accepted first, whichever falls due first', async () => {
    const xml = doc.accept([pack(4)]);
    const first = await client.send(xml);
    const others = [await client.send(xml), await client.send(xml, { account: 'north' })];
    await client.advance(20_000);
    expect((await client.outcome(first.json.document_id)).metadata).toMatchObject({ status: 'PROCESSED' });
    for (const { json } of others)
      expect((await client.outcome(json.document_id)).metadata).toMatchObject({ status: 'FAILED' });
  });

  it('keeps a document number with backslash and quotes', async () => {
    const docNum = 'A\\1 "б"';
    const { json } = await client.send(doc.moveOrder([pack(5)], { docNum: docNum.replaceAll('"', '&quot;') }));
    await client.advance(20_000);
    const answer = await client.get(`/documents/${json.document_id}`);
    expect(answer.text).toContain(String.raw`A\\1 \"б\"`);
    expect(answer.json.doc_num).toBe(docNum);
    const listed = await client.get(`/documents/outcome?doc_num=${encodeURIComponent(docNum)}`);
    expect(listed.json).toMatchObject({ total: 1, documents: [{ document_id: json.document_id }] });
  });

  it('finds by request_id, and answers 404 for what is not there', async () => {
    const requestId = randomUUID();
    expect((await client.get(`/documents/request/${requestId}`)).json).toEqual({ documents: [], total: 0 });
    const { json } = await client.send(doc.accept([pack(6)]), { requestId });
    expect((await client.get(`/documents/request/${requestId}`, 'north')).json).toMatchObject({
      total: 1,
      documents: [{ document_id: json.document_id }],
    });
    for (const path of [
      `/documents/${requestId}`,
      `/documents/${requestId}/ticket`,
      `/documents/download/${requestId}`,
    ]) {
      expect((await client.get(path)).status).toBe(404);
    }
  });

  it('refuses a request_id that was sent, and counts it', async () => {
    const requestId = randomUUID();
    await client.send(doc.accept([pack(7)]), { requestId });
    const again = await client.send(doc.accept([pack(8)]), { requestId });
    expect([again.status, again.headers.get('x-sandbox-reason')]).toEqual([400, expect.stringContaining(requestId)]);
    expect(await truth(requestId)).toMatchObject([{ sends: 2 }]);
    expect((await client.control('GET', '/violations')).json.byRule).toMatchObject({ duplicate_request_id: 1 });
  });

  it('knows a request_id again in whichever case it is written, and gives it back as it was sent', async () => {
    await client.control('DELETE', '/violations');
    const requestId = randomUUID().replace(/.$/, 'f').toUpperCase();
    const small = requestId.toLowerCase();
    const { json } = await client.send(doc.accept([pack(7)]), { requestId, fields: { bulk_processing: true } });
    expect((await client.send(doc.accept([pack(8)]), { requestId: small })).status).toBe(400);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ duplicate_request_id: 1 });
    const shown = { total: 1, documents: [{ request_id: requestId, document_id: json.document_id }] };
    expect((await client.get(`/documents/request/${small}`)).json).toMatchObject(shown);
    expect((await client.get(`/documents/outcome?request_id=${small}`)).json).toMatchObject(shown);
    const ask = async (path: string, body: object) => client.post(path, body, await client.headers());
    const check = async (...ids: string[]) => (await ask('/documents/bulk/check', { request_ids: ids })).json;
    expect(await check(small)).toEqual({ can_start: true });
    expect(await check(requestId, small)).toMatchObject({ error_description: 'a request_id is named twice' });
    expect((await ask('/documents/cancel', { document_id: json.document_id, request_id: small })).status).toBe(200);
  });

  it('takes a request_id once more where it was started so, as a second document, and counts that too', async () => {
    await client.stop();
    client = await TestClient.start({ processingMs: 0, repeatedRequestId: 'take', identicalDocument: 'rejected' });
    const requestId = randomUUID();
    const xml = doc.accept([pack(7)]);
    const sent = [await client.send(xml, { requestId }), await client.send(xml, { requestId })];
    await client.advance(20_000);
    const ids = sent.map(({ json }) => json.document_id as string);
    expect(new Set(ids).size).toBe(2);
    expect((await client.get(`/documents/request/${requestId}`)).json).toMatchObject({
      total: 2,
      documents: ids.map((document_id) => ({ document_id })),
    });
    expect((await client.outcome(ids[1] as string)).errors).toEqual(['200']);
    expect((await client.control('GET', '/violations')).json.byRule).toMatchObject({ duplicate_request_id: 1 });
  });

  it('checks the envelope of a send, and takes both forms of the flag', async () => {
    const xml = doc.accept([pack(9)]);
    const status = async (fields: Record<string, unknown>) =>
      (await client.send(doc.accept([pack(9)]), { fields })).status;
    expect(await status({ sign: undefined })).toBe(400);
    expect(await status({ sign: 'AAAA' })).toBe(400);
    expect(await status({ document: 'not base64!' })).toBe(400);
    expect(await status({ document: Buffer.from(xml.replace('701', '702')).toString('base64') })).toBe(400);
    expect(await status({ request_id: 'x' })).toBe(400);
    expect(await status({ bulk_processing: 'maybe' })).toBe(400);
    for (const bulk of [true, false, 'true', 'false', undefined])
      expect(await status({ bulk_processing: bulk })).toBe(200);
    expect((await client.control('GET', '/violations')).json.byRule).toMatchObject({
      missing_signature: 1,
      bad_signature: 2,
    });
  });

  it('refuses a body or document above its bound and what is not JSON', async () => {
    const headers = await client.headers();
    expect((await client.send('x'.repeat(1_048_577))).status).toBe(413);
    expect((await client.post('/documents/send', 'x'.repeat(3_000_000), headers)).status).toBe(413);
    for (const body of ['', '{', '[]', 'null']) {
      const answer = await client.post('/documents/send', body, headers);
      expect([answer.status, typeof answer.json.error_description]).toEqual([400, 'string']);
    }
    expect((await client.send(doc.accept([pack(10)]))).status).toBe(200);
  });

  it('answers an unknown route with 404 and a wrong verb with 405, in the shape of its framework', async () => {
    const unknown = await client.get('/documents/a/b/c/d');
    expect([unknown.status, unknown.json]).toEqual([
      404,
      expect.objectContaining({ status: 404, error: 'Not Found', path: '/api/v1/documents/a/b/c/d' }),
    ]);
    expect((await client.get('/documents/send/')).status).toBe(404);
    expect((await client.post('/auth/logout', {}, await client.headers())).status).toBe(405);
  });
});

describe('lists', () => {
  let client: TestClient;
  const ids: string[] = [];

  beforeAll(async () => {
    client = await TestClient.start({ processingMs: 0 });
    for (let i = 0; i < 7; i += 1) {
      ids.unshift(
        (await client.send(doc.accept([pack(20 + i)]), { account: i % 2 === 0 ? 'main' : 'north' })).json.document_id,
      );
      await client.advance(10_000);
    }
  });
  afterAll(() => client.stop());

  const idsOf = (answer: { json: { documents: { document_id: string }[] } }) =>
    answer.json.documents.map((one) => one.document_id);
  const byBody = async (filter: unknown, page = {}) =>
    client.post('/documents/outcome', { filter, ...page }, await client.headers());

  it('show every document of the participant, newest first, page by page', async () => {
    expect(idsOf(await client.get('/documents/outcome'))).toEqual(ids);
    expect(idsOf(await client.get('/documents/outcome?start_from=2&count=3'))).toEqual(ids.slice(2, 5));
    const last = await byBody({}, { start_from: 6, count: 3 });
    expect([idsOf(last), last.json.total]).toEqual([ids.slice(6), 7]);
  });

  it('take ids repeated, separated by commas, or in a body', async () => {
    const asked = [ids[4], randomUUID(), ids[1]] as string[];
    expect(idsOf(await client.get(`/documents/outcome?document_ids=${asked.join(',')}`))).toEqual([ids[1], ids[4]]);
    expect(idsOf(await client.get(`/documents/outcome?${asked.map((id) => `document_ids=${id}`).join('&')}`))).toEqual([
      ids[1],
      ids[4],
    ]);
    expect(idsOf(await byBody({ document_ids: asked }))).toEqual([ids[1], ids[4]]);
    expect(
      idsOf(
        await client.get(`/documents/outcome?filter=${encodeURIComponent(JSON.stringify({ document_ids: asked }))}`),
      ),
    ).toEqual([ids[1], ids[4]]);
  });

  it('filter by date, status and type', async () => {
    const dates = (await client.get('/documents/outcome')).json.documents.map((one: { date: string }) => one.date);
    const between = new URLSearchParams({ start_date: dates[4], end_date: dates[2].replace(' ', 'T') });
    expect(idsOf(await client.get(`/documents/outcome?${between}`))).toEqual(ids.slice(2, 5));
    expect((await client.get('/documents/outcome?status=PROCESSED&doc_type=701')).json.total).toBe(7);
    expect((await client.get('/documents/outcome?status=FAILED')).json.total).toBe(0);
    expect((await byBody({ doc_type: 415 })).json.total).toBe(0);
  });

  it('refuse what they do not understand', async () => {
    const wrong = ['unheard_of=1', 'start_date=yesterday', 'count=-1', 'count=100000', 'filter=x'];
    const twice = ['doc_type=701&doc_type=415', 'status=FAILED&status=PROCESSED', 'count=1&count=2'];
    const words = ['status=PROCESSED_DOCUMENT', 'status=processed', 'processing_document_status=DONE'];
    for (const query of [...wrong, ...twice, ...words]) {
      expect([query, (await client.get(`/documents/outcome?${query}`)).status]).toEqual([query, 400]);
    }
  });

  it('show incoming documents to the participant who receives them', async () => {
    const xml = doc
      .moveOrder([pack(50)])
      .replaceAll('move_order', 'move_order_notification')
      .replace('"415"', '"601"');
    const { json } = await client.control('POST', '/incoming', { from: 'supplier-a', to: 'own', xml });
    const list = await client.get('/documents/income');
    expect(list.json).toMatchObject({ total: 1, documents: [{ document_id: json.document_id, doc_type: 601 }] });
    expect(idsOf(await client.get(`/documents/income?document_ids=${json.document_id},${ids[0]}`))).toEqual([
      json.document_id,
    ]);
    const { link } = (await client.get(`/documents/download/${json.document_id}`)).json;
    expect((await client.get(link)).text).toBe(xml);
    expect((await client.get('/documents/outcome')).json.total).toBe(7);
  });
});

describe('the time that processing takes', () => {
  const lasted = async (processingSpread: 'half' | 'full', seed: number): Promise<number[]> => {
    const client = await TestClient.start({ seed, processingMs: 5_000, processingSpread });
    try {
      for (let n = 0; n < 40; n += 1) await client.send(doc.accept([pack(n)]));
      await client.advance(60_000);
      const { documents } = (await client.control('GET', '/truth/documents?limit=100')).json as {
        documents: { accepted_at: string; processed_at: string }[];
      };
      return documents.map((one) => Date.parse(one.processed_at) - Date.parse(one.accepted_at));
    } finally {
      await client.stop();
    }
  };
  const parts = (ms: number[]) =>
    [ms.filter((one) => one < 2_500).length, ms.filter((one) => one > 7_500).length].map((count) => count > 3);

  it('is spread by seed from half to one and a half of its mean, or from nothing to twice the mean', async () => {
    const [half, full] = [await lasted('half', 1), await lasted('full', 1)];
    expect([Math.min(...half) >= 2_500, Math.max(...half) <= 7_500, Math.max(...full) <= 10_000]).toEqual([
      true,
      true,
      true,
    ]);
    expect([parts(half), parts(full)]).toEqual([
      [false, false],
      [true, true],
    ]);
    expect(await lasted('full', 1)).toEqual(full);
    expect(await lasted('full', 2)).not.toEqual(full);
  });
});
