import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { withDefaults } from '../config.js';
import { newDocument, type RegistryDocument } from '../documents/document.js';
import { fetchLink, receipt, status } from '../operations/reads.js';
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
    Object.assign(document, {
      account: 'main',
      status: 'processed',
      changedRealMs: 10_000,
      verdict: { kind: 'receipt', result: 'Accepted', comment: '', errors: [] },
    });
    registry.documents.add(document);
  });
  afterEach(() => registry.close());

  function at(latestMs: number, method: string) {
    const account = registry.world.accountsByName.get('main');
    if (account === undefined) throw new Error('the world has no account "main"');
    const call = {
      method,
      verb: 'GET',
      params: { document_id: document.documentId },
      query: new URLSearchParams(),
      headers: {},
      body: Buffer.alloc(0),
      base: '',
      token: '',
    };
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

  it('too early is too early also for a document that answers 404 for a moment', () => {
    document.hiddenUntilVirtualMs = Infinity;
    expect(() => status(registry, at(3994, 'status'))).toThrow('no such document');
    expect(() => receipt(registry, at(14_994, 'receipt'))).toThrow('no such document');
    expect(broken()).toEqual({ status_too_early: 1, receipt_too_early: 1 });
  });

  it(
    'a link to a receipt that the client made up keeps it waiting as long, and one that it was given is not judged ' +
      'again',
    () => {
      const fetch = (latestMs: number) => {
        const call = at(latestMs, 'fetch_link');
        return fetchLink(registry, { ...call, params: { ...call.params, file: `ticket_${document.documentId}` } });
      };
      fetch(14_995);
      expect(broken()).toEqual({});
      fetch(14_994);
      expect(broken()).toEqual({ receipt_too_early: 1 });
      receipt(registry, at(14_994, 'receipt'));
      fetch(14_994);
      expect(broken()).toEqual({ receipt_too_early: 2 });
    },
  );

  it.each(['uploading', 'processing', 'failed'] as const)('no receipt is requested in status %s', (kind) => {
    document.status = kind;
    expect(() => receipt(registry, at(99_000, 'receipt'))).toThrow('no receipt');
    expect(broken()).toEqual({ receipt_wrong_status: 1 });
  });
});

describe('what a send carries', () => {
  it.each(['interface-v1', 'mdlp'])(
    'is a flag as a boolean, and no more items than its type allows, by %s',
    async (profile) => {
      const folder = mkdtempSync(join(tmpdir(), 'sandbox-rules-'));
      const profileOverrides = join(folder, 'overrides.json');
      writeFileSync(profileOverrides, JSON.stringify({ rules: { maxItemsByType: { 701: 2 } } }));
      const client = await TestClient.start({ profile, profileOverrides, dataDir: join(folder, 'data') });
      try {
        await client.send(doc.accept([doc.pack(1), doc.pack(2)]), { fields: { bulk_processing: false } });
        await client.advance();
        expect((await client.control('GET', '/violations')).json.count).toBe(0);
        await client.send(doc.accept([doc.pack(3), doc.pack(4), doc.pack(5)]), {
          fields: { bulk_processing: 'false' },
        });
        await client.advance();
        const { byRule, violations } = (await client.control('GET', '/violations')).json;
        expect(byRule).toEqual({ flag_as_text: 1, too_many_items: 1 });
        expect(violations[1]).toMatchObject({ account: 'main', note: expect.stringContaining('3 of at most 2') });
      } finally {
        await client.stop();
        rmSync(folder, { recursive: true });
      }
    },
  );
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

  it('a deprecated parameter is refused, and counted', async () => {
    const headers = await client.headers();
    expect(
      (await client.post('/reestr/med_products/public/filter', { filter: { prod_desc_label: 'x' } }, headers)).status,
    ).toBe(400);
    expect(
      (await client.post('/reestr/med_products/public/filter', { filter: { prod_sell_name: 'x' } }, headers)).status,
    ).toBe(200);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ deprecated_parameter: 1 });
  });

  it('a list read is not a status query', async () => {
    const { json } = await client.send(doc.accept([doc.pack(1)]));
    await client.get(`/documents/outcome?document_ids=${json.document_id}`);
    await client.get(`/documents/request/${randomUUID()}`);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
    await client.get(`/documents/${json.document_id}`);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ status_too_early: 1 });
  });
});
