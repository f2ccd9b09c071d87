import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';

describe('misbehaviour on order', () => {
  let client: TestClient;
  beforeEach(async () => {
    client = await TestClient.start();
    await client.token();
  });
  afterEach(() => client.stop());

  const order = (fault: string, rest: Record<string, unknown> = {}) =>
    client.control('POST', '/faults', { fault, ...rest });
  const found = async (requestId: string) => (await client.get(`/documents/request/${requestId}`)).json.total;

  it('drops the connection after the work', async () => {
    const requestId = randomUUID();
    await order('drop_connection_after_work', { method: 'send' });
    await expect(client.send(doc.accept([pack(1)]), { requestId })).rejects.toThrow();
    expect(await found(requestId)).toBe(1);
    expect((await client.send(doc.accept([pack(2)]))).status).toBe(200);
  });

  it('drops the connection before the work', async () => {
    const requestId = randomUUID();
    await order('drop_connection_before_work', { method: 'send' });
    await expect(client.send(doc.accept([pack(1)]), { requestId })).rejects.toThrow();
    expect(await found(requestId)).toBe(0);
    expect((await client.send(doc.accept([pack(1)]), { requestId })).status).toBe(200);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
  });

  it('answers 500 after the work, and 429 without any', async () => {
    const ids = [randomUUID(), randomUUID()] as [string, string];
    await order('answer_500_after_work', { method: 'send' });
    expect((await client.send(doc.accept([pack(1)]), { requestId: ids[0] })).status).toBe(500);
    await order('answer_429', { method: 'send', value: 250, times: 2 });
    for (let i = 0; i < 2; i += 1) {
      const limited = await client.send(doc.accept([pack(2)]), { requestId: ids[1] });
      expect([limited.status, limited.json.error_description]).toEqual([429, expect.stringContaining('250 ms')]);
    }
    expect([await found(ids[0]), await found(ids[1])]).toEqual([1, 0]);
    expect((await client.control('GET', '/violations')).json).toMatchObject({ count: 0, rateLimited: 2 });
  });

  it('shows FAILED for a while, then the truth; and keeps a receipt back', async () => {
    await order('failed_then_processed', { value: 60_000 });
    await order('late_receipt', { value: 120_000 });
    const { json } = await client.send(doc.accept([pack(1)]));
    await client.advance();
    expect((await client.outcome(json.document_id)).metadata).toMatchObject({ status: 'FAILED' });
    await client.advance(60_000);
    expect(await client.outcome(json.document_id)).toMatchObject({
      metadata: { status: 'PROCESSED' },
      receipt: undefined,
    });
    await client.advance(60_000);
    expect(await client.outcome(json.document_id)).toMatchObject({ result: 'Accepted' });
  });

  it('says what it cannot do', async () => {
    for (const wrong of [
      { fault: 'unheard_of' },
      { fault: 'delay_ms', times: 0 },
      { fault: 'delay_ms', value: 'long' },
      {},
    ]) {
      expect((await client.control('POST', '/faults', wrong)).status).toBe(400);
    }
    expect((await client.control('GET', '/faults')).json.open).toEqual([]);
  });
});
