import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';

/** Sets limits as any client might: by whatever name, with whatever headers. */
const asked = (
  controlUrl: string,
  headers: OutgoingHttpHeaders,
  body: string,
): Promise<{ status: number | undefined; text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${controlUrl}/limits`,
      { method: 'POST', setHost: false, headers: { host: '127.0.0.1', ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve({ status: answer.statusCode, text }));
      },
    );
    sent.on('error', reject).end(body);
  });

describe('the control port', () => {
  let client: TestClient;
  beforeAll(async () => {
    client = await TestClient.start({ profile: 'mdlp' });
  });
  afterAll(() => client.stop());

  it('moves the virtual clock forward and never back', async () => {
    const clock = async (body: unknown) => client.control('POST', '/clock', body);
    const { virtualMs } = (await client.control('GET', '/clock')).json;
    expect((await clock({ advanceMs: 86_400_000 })).json.virtualMs).toBeGreaterThanOrEqual(virtualMs + 86_400_000);
    expect((await clock({ setTo: new Date(virtualMs).toISOString() })).status).toBe(400);
    expect((await clock({ setTo: virtualMs + 2 * 86_400_000 })).json.virtualMs).toBeGreaterThanOrEqual(
      virtualMs + 2 * 86_400_000,
    );
    expect((await clock({ speed: 10 })).json.speed).toBe(10);
    for (const wrong of [{}, { speed: 0 }, { advanceMs: -1 }, { setTo: 'soon' }])
      expect((await clock(wrong)).status).toBe(400);
    await clock({ speed: 1 });
  });

  it('speaks of documents page by page, under the names of any profile', async () => {
    for (let i = 0; i < 3; i += 1) await client.send(doc.accept([pack(i)]));
    await client.advance();
    const page = (await client.control('GET', '/truth/documents?limit=2')).json;
    expect([page.documents.length, page.total, page.next]).toEqual([2, 3, 2]);
    const rest = (await client.control('GET', `/truth/documents?after=${page.next}`)).json;
    expect([rest.documents.length, rest.next]).toEqual([1, null]);
    const list = await client.post(
      '/documents/outcome',
      { filter: { doc_status: 'PROCESSED_DOCUMENT' }, start_from: 0, count: 10 },
      await client.headers(),
    );
    expect(list.json.total).toBe(3);
    expect((await client.control('GET', '/truth/summary')).json).toMatchObject({
      documents: { count: 3, waiting: 0 },
      packs: { touched: 3 },
      schemas: true,
    });
  });

  it('plants packs all or none', async () => {
    const good = { sgtin: `${doc.GTIN}PLANTED000009`, owner: 'own', place: doc.PLACES.warehouse };
    for (const wrong of [
      { ...good, owner: 'nobody' },
      { ...good, place: '1' },
      { ...good, sgtin: 'x' },
      { ...good, sscc: '1' },
      { ...good, colour: 'red' },
    ]) {
      expect((await client.control('POST', '/plant', { packs: [good, wrong] })).status).toBe(400);
    }
    expect(await client.pack(good.sgtin)).toEqual({ sgtin: good.sgtin, known: false });
    expect((await client.control('POST', '/plant', { packs: [good] })).json).toMatchObject({ packs: 1 });
    expect(await client.pack(good.sgtin)).toMatchObject({ known: true, status: 'in_circulation' });
  });

  it('names what it has when it is asked for something else', async () => {
    const answer = await client.control('GET', '/nothing');
    expect([answer.status, answer.json.error_description]).toEqual([404, expect.stringContaining('/truth/documents')]);
    expect((await client.control('POST', '/clock')).status).toBe(400);
  });

  it.each([
    ['a form of another site', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
    ['a page without a site', { origin: 'null' }],
    ['a page of another program here', { origin: 'http://localhost:3000' }],
    ['a name that was led here', { host: 'evil.example' }],
    ['a name that begins as ours', { host: '127.0.0.1.evil.example' }],
    ['no name', { host: '' }],
  ])('is moved by no web page: %s', async (_what, headers) => {
    const before = (await client.control('GET', '/limits')).json;
    const answer = await asked(client.sandbox.controlUrl, headers, '{"on":true,"intervalMs":60000}');
    expect(answer).toEqual({ status: 403, text: expect.stringContaining('the control port serves') as unknown });
    expect((await client.control('GET', '/limits')).json).toEqual(before);
    expect((await asked(client.sandbox.controlUrl, { host: 'localhost:9081' }, '{"intervalMs":null}')).status).toBe(
      200,
    );
  });

  it('is not served on the public port, which only says where it is', async () => {
    const introduction = await client.http(`${client.sandbox.url}/.well-known/pedigree-sandbox`);
    expect(introduction.json).toEqual({ controlUrl: client.sandbox.controlUrl, profile: 'mdlp' });
    expect((await client.http(`${client.sandbox.url}/truth/summary`)).status).toBe(404);
  });
});
