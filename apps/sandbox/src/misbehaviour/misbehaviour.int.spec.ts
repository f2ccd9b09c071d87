import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../../test/support/until.js';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';
import { signAs } from '../../test/signer.js';
import type { KnobName } from './knobs.js';

describe('misbehaviour: what a client meets, and what is not his fault', () => {
  let client: TestClient;
  beforeEach(async () => {
    client = await TestClient.start({ profile: 'mdlp' });
    await client.token();
  });
  afterEach(async () => {
    try {
      expect((await client.control('GET', '/violations')).json.byRule).toEqual({});
    } finally {
      await client.stop();
    }
  });

  const set = async (knob: KnobName, rate = 1) =>
    expect((await client.control('POST', '/misbehaviour', { knobs: { [knob]: rate } })).status).toBe(200);
  const found = async (requestId: string) => (await client.get(`/documents/request/${requestId}`)).json.total;
  const list = async () =>
    (await client.post('/documents/outcome', { start_from: 0, count: 2 }, await client.headers())).json;

  it.each([
    ['answer_500_before_work', 500, 'json', 0],
    ['answer_500_after_work', 500, 'json', 1],
    ['html_error', 504, 'html', 1],
    ['wrong_content_type', 200, 'html', 1],
    ['answer_429', 429, 'json', 0],
  ] as [KnobName, number, string, number][])('%s answers %i in %s', async (knob, status, contentType, done) => {
    const requestId = randomUUID();
    await set(knob);
    const answer = await client.send(doc.accept([pack(1)]), { requestId });
    await set(knob, 0);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, expect.stringContaining(contentType)]);
    expect(await found(requestId)).toBe(done);
  });

  it.each([
    ['drop_connection_before_work', 0],
    ['drop_connection_after_work', 1],
    ['cut_answer', 1],
  ] as [KnobName, number][])('%s gives no answer', async (knob, done) => {
    const requestId = randomUUID();
    await set(knob);
    await expect(client.send(doc.accept([pack(1)]), { requestId })).rejects.toThrow();
    await set(knob, 0);
    expect(await found(requestId)).toBe(done);
  });

  /** Longer than a busy machine takes for the call that must come before it. */
  const LATE_MS = 3_000;

  it('land_late: the connection breaks, and the send arrives after that', async () => {
    const requestId = randomUUID();
    await client.control('POST', '/faults', { fault: 'land_late', method: 'send', value: LATE_MS });
    await expect(client.send(doc.accept([pack(1)]), { requestId })).rejects.toThrow();
    expect(await found(requestId)).toBe(0);
    await until('it arrives', async () => (await found(requestId)) === 1);
  });

  it('land_late: what landed late is not hidden as well, for a client need not bear both', async () => {
    const requestId = randomUUID();
    await client.control('POST', '/faults', { fault: 'land_late', method: 'send', value: LATE_MS });
    await client.control('POST', '/faults', { fault: 'hidden_after_send', value: 86_400_000 });
    await expect(client.send(doc.accept([pack(1)]), { requestId })).rejects.toThrow();
    await until('it is found', async () => (await found(requestId)) === 1);
  });

  it('land_late: a second send before the first has landed breaks a rule, and what lands behind it is dropped', async () => {
    const requestId = randomUUID();
    const xml = doc.accept([pack(1)]);
    await client.control('POST', '/faults', { fault: 'land_late', method: 'send', value: LATE_MS });
    await expect(client.send(xml, { requestId })).rejects.toThrow();
    expect((await client.send(doc.accept([pack(2)]))).status).toBe(200);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({});
    expect((await client.send(xml, { requestId })).status).toBe(200);
    const { byRule, violations } = (await client.control('GET', '/violations')).json;
    expect(byRule).toEqual({ premature_resend: 1 });
    expect(violations[0]).toMatchObject({ call: 'send', account: 'main', note: expect.stringContaining(requestId) });
    await client.control('DELETE', '/violations');
    // The sandbox lives in this process and its timer was set before this one, so it has landed when this one ends.
    await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    expect((await client.control('GET', `/truth/documents?request_id=${requestId}`)).json.documents).toMatchObject([
      { sends: 1 },
    ]);
  });

  it(
    'land_late: a second send that is held back itself is premature all the same, and one after the landing is a ' +
      'repetition',
    async () => {
      const requestId = randomUUID();
      const xml = doc.accept([pack(1)]);
      await client.control('POST', '/faults', { fault: 'land_late', method: 'send', times: 2, value: LATE_MS });
      for (const _ of [1, 2]) await expect(client.send(xml, { requestId })).rejects.toThrow();
      expect((await client.control('GET', '/violations')).json.byRule).toEqual({ premature_resend: 1 });
      await new Promise((resolve) => setTimeout(resolve, LATE_MS));
      expect((await client.send(xml, { requestId })).status).toBe(400);
      expect((await client.control('GET', '/violations')).json.byRule).toEqual({
        premature_resend: 1,
        duplicate_request_id: 1,
      });
      await client.control('DELETE', '/violations');
    },
  );

  it('token_revoked: 401, and a new sign-in helps', async () => {
    await client.control('POST', '/faults', { fault: 'token_revoked', method: 'list_outgoing' });
    const headers = await client.headers();
    expect((await client.post('/documents/outcome', {}, headers)).status).toBe(401);
    expect((await client.post('/documents/outcome', {}, headers)).status).toBe(401);
    const { json } = await client.newToken();
    expect((await client.post('/documents/outcome', {}, { authorization: `token ${json.token}` })).status).toBe(200);
  });

  it('a token whose answer was lost does not count', async () => {
    for (let i = 0; i < 12; i += 1) {
      await set('answer_500_after_work', 0);
      const { json } = await client.post('/auth', client.credentials());
      await set('answer_500_after_work');
      expect(
        (await client.post('/token', { code: json.code, signature: signAs('main', Buffer.from(json.code)) })).status,
      ).toBe(500);
    }
    expect((await client.control('GET', '/truth/tokens')).json.tokens).toEqual({ main: 1 });
  });

  it('total_changes and repeated_entry: the list lies, but loses nothing', async () => {
    for (let i = 0; i < 3; i += 1) await client.send(doc.accept([pack(i)]));
    const honest = await list();
    await set('total_changes');
    expect((await list()).total).toBeGreaterThan(honest.total);
    await set('total_changes', 0);
    await set('repeated_entry');
    const { documents } = await list();
    expect(documents.map((one: { document_id: string }) => one.document_id)).toEqual(
      [...honest.documents, honest.documents[0]].map((one) => one.document_id),
    );
  });

  it('cut_answer: the head comes, and not the whole body', async () => {
    await client.control('POST', '/faults', { fault: 'cut_answer', method: 'list_outgoing' });
    const answer = await fetch(`${client.sandbox.url}/api/v1/documents/outcome`, { headers: await client.headers() });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  it('short_page and reordered_page: a page is not what was asked for, and the total is', async () => {
    for (let i = 0; i < 4; i += 1) await client.send(doc.accept([pack(i)]));
    const page = async (): Promise<string[]> => {
      const { json } = await client.post('/documents/outcome', { start_from: 0, count: 4 }, await client.headers());
      expect(json.total).toBe(4);
      return json.documents.map((one: { document_id: string }) => one.document_id);
    };
    const honest = await page();
    await set('short_page');
    expect(await page()).toEqual(honest.slice(0, 2));
    await set('short_page', 0);
    await set('reordered_page');
    expect(await page()).toEqual([...honest].reverse());
  });

  it('hidden_after_send: 404 for a moment, everywhere', async () => {
    await client.control('POST', '/faults', { fault: 'hidden_after_send', value: 30_000 });
    const requestId = randomUUID();
    const { json } = await client.send(doc.accept([pack(1)]), { requestId });
    expect([
      (await client.get(`/documents/${json.document_id}`)).status,
      await found(requestId),
      (await list()).total,
    ]).toEqual([404, 0, 0]);
    await client.advance(31_000);
    expect([await found(requestId), (await list()).total]).toEqual([1, 1]);
    // The status was asked for at once, on purpose: the one rule that this test breaks.
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ status_too_early: 1 });
    await client.control('DELETE', '/violations');
  });

  it('transient_rejected: Rejected with its comment, later the truth', async () => {
    await client.control('POST', '/faults', { fault: 'transient_rejected', value: 20_000 });
    const { json } = await client.send(doc.accept([pack(1)]));
    await client.advance(10_000);
    const receipt = async () =>
      (await client.get((await client.get(`/documents/${json.document_id}/ticket`)).json.link)).text.replaceAll(
        '>\r\n<',
        '><',
      );
    expect(await receipt()).toContain(
      '<operation_result>Rejected</operation_result>' +
        '<operation_comment>ошибка на этапе подготовки ответа</operation_comment>',
    );
    expect((await list()).documents[0]).toMatchObject({
      doc_status: 'FAILED_RESULT_READY',
      processing_document_status: 'REJECTED',
    });
    await client.advance(20_000);
    expect(await receipt()).toContain('<operation_result>Accepted</operation_result>');
    expect((await list()).documents[0]).toMatchObject({
      doc_status: 'PROCESSED_DOCUMENT',
      processing_document_status: 'ACCEPTED',
    });
    // The receipt was asked for at once, on purpose: the one rule that this test breaks.
    await client.control('DELETE', '/violations');
  });

  it('tells rates and strikes, and refuses what it does not know', async () => {
    expect((await client.control('POST', '/misbehaviour', { rate: 0.25, knobs: { delay_ms: 0 } })).status).toBe(200);
    const { knobs } = (await client.control('GET', '/misbehaviour')).json;
    expect(new Set(knobs.map((one: { rate: number }) => one.rate))).toEqual(new Set([0, 0.25]));
    for (const wrong of [{}, { rate: 2 }, { knobs: { unheard: 1 } }, { speed: 1 }])
      expect((await client.control('POST', '/misbehaviour', wrong)).status).toBe(400);
    await client.control('POST', '/misbehaviour', { rate: 0 });
  });
});
