import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { makeKey } from '../../test/keys.js';
import { newWebhook, webhook, webhookList } from './answers.js';

const SHA = 'a'.repeat(64);

let harness: TestHarness;
let receiver: Server;
const received: { body: string; headers: Record<string, string> }[] = [];

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { encryptionKey: Buffer.alloc(32, 1) });
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ body, headers: request.headers as Record<string, string> });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await harness.stop();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const address = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
const refusal = async (body: object | string, path = '/v1/webhooks') => {
  const { status, json } = await harness.post(body, path);
  const { code, field } = json();
  return [status, code, field];
};

describe('webhooks over the API', () => {
  it('are made, post what became of a document, are listed, resumed and removed', async () => {
    const made = await harness.post({ url: address(), description: 'stock system' }, '/v1/webhooks');
    expect(made.status).toBe(201);
    const { id, secret } = newWebhook.parse(made.json());
    await harness.post({ command_id: 'w-1', xml: arrival(), reference: 'INV-1' });
    const answer = { kind: 'refused', code: '7', text: 'no', answerSha256: SHA } as const;
    await harness.run('w-1', [
      { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
      { type: 'RecordSendAnswer', attempt: 1, answer },
    ]);
    await until('it was posted', () => received.length > 0);
    const { body, headers } = received[0] as (typeof received)[0];
    expect(new StandardWebhook(secret).verify(body, headers)).toMatchObject({
      type: 'pedigree.document.concluded.v1',
      data: { reference: 'INV-1', outcome: 'failed', cause: 'send_refused' },
    });
    const list = webhookList.parse((await harness.ask('/v1/webhooks')).json());
    expect(list.items).toMatchObject([{ id, description: 'stock system', created_by: 'local', state: 'active' }]);
    const changed = newWebhook.parse((await harness.post({ reason: 'a test' }, `/v1/webhooks/${id}/secrets`)).json());
    expect([changed.id, changed.secret === secret, changed.earlier_secret_until === undefined]).toEqual([
      id,
      false,
      false,
    ]);
    webhook.parse((await harness.post({ from: 'now', reason: 'a test' }, `/v1/webhooks/${id}/resume`)).json());
    expect((await harness.ask(`/v1/webhooks/${id}?reason=no%20more`, { method: 'DELETE' })).status).toBe(204);
    expect((await harness.ask(`/v1/webhooks/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect((await harness.ask('/v1/webhooks')).json()).toEqual({ items: [] });
  });

  it('are refused in words', async () => {
    expect(await refusal({ url: 'https://169.254.169.254/' })).toEqual([400, 'invalid_command', '/url']);
    expect(await refusal({ url: address(), colour: 'red' })).toEqual([400, 'invalid_command', '/colour']);
    expect(await refusal({})).toEqual([400, 'invalid_command', '/url']);
    expect(await refusal('{')).toEqual([400, 'invalid_json', '']);
    expect(await refusal({}, '/v1/webhooks/x/resume')).toEqual([400, 'invalid_parameter', 'id']);
    expect(await refusal({ from: 'there' }, '/v1/webhooks/00000000-0000-4000-8000-000000000000/resume')).toEqual([
      400,
      'invalid_command',
      '/from',
    ]);
  });

  it('are for operators: auditors look, the ERP does neither', async () => {
    const asks = async (role: 'erp' | 'operator' | 'auditor') => {
      const headers = {
        authorization: `Bearer ${await makeKey(harness.db.pool, role, [role])}`,
        'content-type': 'application/json',
      };
      const list = await harness.ask('/v1/webhooks', { headers });
      const add = await harness.ask('/v1/webhooks', {
        method: 'POST',
        headers,
        body: JSON.stringify({ url: address() }),
      });
      return [list.status, add.status, (await harness.ask('/v1/outcomes', { headers })).status];
    };
    expect(await asks('operator')).toEqual([200, 201, 200]);
    expect(await asks('auditor')).toEqual([200, 403, 200]);
    expect(await asks('erp')).toEqual([403, 403, 200]);
  });
});
