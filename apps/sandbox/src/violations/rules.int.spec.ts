import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { withDefaults } from '../config.js';
import { newDocument, type RegistryDocument } from '../documents/document.js';
import { receipt, status } from '../operations/reads.js';
import { Registry } from '../registry.js';

describe('rules of timing, by the real clock', () => {
  let registry: Registry;
  let document: RegistryDocument;

  beforeEach(() => {
    registry = new Registry(withDefaults({}));
    document = newDocument({
      seq: 1,
      documentId: randomUUID(),
      requestId: randomUUID(),
      sender: 'own',
      acceptedVirtualMs: 0,
      dueVirtualMs: 0,
      answeredRealMs: 1000,
      journalAt: { offset: 0, length: 0 },
    });
    Object.assign(document, { account: 'main', status: 'processed', changedRealMs: 10_000, verdict: { kind: 'receipt', result: 'Accepted', comment: '', errors: [] } });
    registry.documents.add(document);
  });
  afterEach(() => registry.close());

  function at(latestMs: number, method: string) {
    const account = registry.world.accountsByName.get('main');
    if (account === undefined) throw new Error('the world has no account "main"');
    const call = { method, verb: 'GET', params: { document_id: document.documentId }, query: new URLSearchParams(), headers: {}, body: Buffer.alloc(0), base: '', token: '' };
    return { ...call, account, arrival: { earliestMs: latestMs, latestMs } };
  }
  const broken = () => registry.violations.report().byRule;

  it('a status is read 3 s after the answer to the send, with 5 ms of slack', () => {
    status(registry, at(3995, 'status'));
    expect(broken()).toEqual({});
    status(registry, at(3994, 'status'));
    expect(broken()).toEqual({ status_too_early: 1 });
  });

  it('a receipt is requested 5 s after the status changed', () => {
    receipt(registry, at(14_995, 'receipt'));
    expect(broken()).toEqual({});
    expect(receipt(registry, at(14_994, 'receipt')).status).toBe(200);
    expect(broken()).toEqual({ receipt_too_early: 1 });
  });

  it.each(['uploading', 'processing', 'failed'] as const)('no receipt is requested in status %s', (kind) => {
    document.status = kind;
    expect(() => receipt(registry, at(99_000, 'receipt'))).toThrow('no receipt');
    expect(broken()).toEqual({ receipt_wrong_status: 1 });
  });
});

describe('methods that are not called', () => {
  let client: TestClient;
  beforeEach(async () => {
    client = await TestClient.start();
  });
  afterEach(() => client.stop());

  it('deprecated ones and those of the web cabinet are told apart from typing errors', async () => {
    expect((await client.post('/users/find', {}, await client.headers())).status).toBe(200);
    expect((await client.get('/reestr/branches')).status).toBe(200);
    expect((await client.get(`${client.sandbox.url}/web/api/profile`)).status).toBe(404);
    expect((await client.get('/typo')).status).toBe(404);
    const { byRule, violations } = (await client.control('GET', '/violations')).json;
    expect(byRule).toEqual({ deprecated_method: 2, internal_method: 1 });
    expect(violations.map((one: { account: string }) => one.account)).toEqual(['main', 'main', 'main']);
  });

  it('a list read is no status query', async () => {
    const { json } = await client.send(doc.accept([doc.pack(1)]));
    await client.get(`/documents/outcome?document_ids=${json.document_id}`);
    await client.get(`/documents/request/${randomUUID()}`);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
    await client.get(`/documents/${json.document_id}`);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ status_too_early: 1 });
  });
});
