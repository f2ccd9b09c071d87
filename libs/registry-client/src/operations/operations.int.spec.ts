import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeBudgets, FakeRegistry, ok, type Behaviour } from '../../test/fake-registry.js';
import { readAccounts } from '../accounts.js';
import { UndiciRegistryClient } from '../client.js';
import { loadProfile, type ProfileOverrides } from '../profile.js';
import { registryClientSchema } from '../session/schema.js';
import { PostgresSessionStore } from '../session/session-store.js';

const accounts = readAccounts(
  fileURLToPath(new URL('../../../../apps/sandbox/data/accounts.json', import.meta.url)),
).slice(0, 1);
const XML = Buffer.from(`<documents>${'Ж'.repeat(20)}</documents>`);
const PAGE = ok({ entries: [{ sgtin: 'a' }], total: 1 });

let db: TestDatabase;
let registry: FakeRegistry;
let budgets: FakeBudgets;
let client: UndiciRegistryClient;

beforeAll(async () => {
  db = await testDatabase([registryClientSchema]);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.pool.query('TRUNCATE registry_session');
  registry = await new FakeRegistry().start();
  budgets = new FakeBudgets();
});
afterEach(async () => {
  // Whatever was asked: nothing deprecated (registry-interface 9).
  for (const { method, url, body } of registry.seen) {
    expect(`${method} ${url}`).not.toMatch(/users\/find|GET [^ ]*reestr\/branches/);
    expect(JSON.stringify(body)).not.toContain('prod_desc_label');
  }
  await client.close();
  await registry.stop();
});

async function opened(overrides: ProfileOverrides = {}): Promise<UndiciRegistryClient> {
  client = new UndiciRegistryClient({
    baseUrl: registry.url,
    profile: loadProfile('mdlp', overrides),
    accounts,
    budgets,
    sessions: new PostgresSessionStore(db.pool, { key: randomBytes(32) }),
    clock: systemClock,
  });
  await client.operations.sgtins.one('main', 'none');
  budgets.slots.length = 0;
  return client;
}

const script = (ending: string, ...behaviours: Behaviour[]): void => void registry.script.set(ending, behaviours);
const timesCalled = (ending: string): number => registry.calls(ending).length;

describe('operations over HTTP', () => {
  it('take a slot of their own method each, and count by it', async () => {
    const by = await opened();
    script('/reestr/sgtin/filter', PAGE);
    script('/sgtins-by-list', ok({ entries: [{ sgtin: 'a' }] }));
    await by.operations.lists.walk('main', 'sgtins');
    await by.operations.sgtins.byList('main', ['a']);
    expect(budgets.slots).toEqual(['main/sgtins', 'main/sgtins_by_list']);
    const counted = by.callCounts().map(({ method, result, calls }) => `${method} ${result} ${calls}`);
    expect(counted).toEqual([
      'sign_in_code ok 1',
      'sign_in_token ok 1',
      'sgtin not_found 1',
      'sgtins ok 1',
      'sgtins_by_list ok 1',
    ]);
  });

  it.each([
    ['a group start', '/documents/bulk', (by: UndiciRegistryClient) => by.operations.groups.start('main', ['r'])],
    [
      'a cancellation',
      '/documents/cancel',
      (by: UndiciRegistryClient) => by.operations.largeDocuments.cancel('main', { documentId: 'd', requestId: 'r' }),
    ],
    [
      'an export',
      '/data/export/tasks',
      (by: UndiciRegistryClient) => by.operations.exports.create('main', { reportId: 'R' }),
    ],
    [
      'a finish',
      '/documents/send_finished',
      (by: UndiciRegistryClient) =>
        by.operations.largeDocuments.step('main', { xml: XML, requestId: 'r' }, { next: 'finish', documentId: 'd' }),
    ],
  ])('that change something go out once: %s', async (_name, ending, change) => {
    const by = await opened({ rules: { requestTimeoutMs: 1_500 } });
    for (const trouble of [
      'reset',
      'hang',
      { status: 502, body: '<html/>', type: 'text/html' },
      { status: 429, body: '{}' },
    ] as Behaviour[]) {
      script(ending, trouble);
      const before = timesCalled(ending);
      expect(await change(by)).toMatchObject({
        kind: typeof trouble === 'object' && trouble.status === 429 ? 'rate_limited' : 'unknown',
      });
      // A repeat would come on a new connection; a call after it proves that there was time for it.
      await by.documentStatus('main', 'none');
      expect(timesCalled(ending) - before).toBe(1);
    }
  });

  it.each([
    [
      'a group start',
      '/documents/bulk',
      (by: UndiciRegistryClient, notAfterMonotonicMs: number) =>
        by.operations.groups.start('main', ['r'], { notAfterMonotonicMs }),
    ],
    [
      'a send',
      '/documents/send',
      (by: UndiciRegistryClient, notAfterMonotonicMs: number) =>
        by.sendDocument('main', { xml: XML, signature: undefined, requestId: 'r', notAfterMonotonicMs }),
    ],
  ])('that change something are not written once their time is over: %s', async (_name, ending, change) => {
    const by = await opened();
    const before = timesCalled(ending);
    expect(await change(by, systemClock.monotonicMs() - 1)).toEqual({
      kind: 'not_sent',
      reason: 'the slot came too late for this attempt',
    });
    expect(timesCalled(ending)).toBe(before);
    script(ending, ok({ document_id: 'd' }));
    expect(await change(by, systemClock.monotonicMs() + 60_000)).toMatchObject({ kind: 'ok' });
    expect(timesCalled(ending)).toBe(before + 1);
  });

  it('learn from a 429 of a list, renew the token at a 401, and go on', async () => {
    const by = await opened();
    script(
      '/reestr/sgtin/filter',
      { status: 429, body: '{"error_description":"Интервал 1,5 секунды"}', headers: { 'retry-after': '3' } },
      { status: 401, body: '' },
      PAGE,
    );
    expect(await by.operations.lists.walk('main', 'sgtins')).toMatchObject({
      kind: 'complete',
      items: [{ sgtin: 'a' }],
    });
    expect(budgets.learnt).toEqual([{ account: 'main', method: 'sgtins', intervalMs: 1_500, retryAfterMs: 3_000 }]);
    expect(timesCalled('/token')).toBe(2);
  });

  it('upload the bytes as they are, under the token, and only to the registry', async () => {
    const by = await opened({ rules: { uploadPartBytes: 30 } });
    script('/documents/send_large', (call) =>
      ok({ document_id: 'd', link: `http://other.example/webdav/${String(call.body['request_id'])}` }),
    );
    script('/webdav/r', { status: 201, body: '' });
    script('/documents/send_finished', ok({ request_id: 'r' }));
    const signature = await by.sign('main', XML);
    expect(
      await by.operations.largeDocuments.run('main', { xml: XML, signature, requestId: 'r', bulkProcessing: false }),
    ).toEqual({ at: { next: 'nothing', documentId: 'd' } });
    const parts = registry.calls('/webdav/r');
    expect(
      parts.map((part) => [
        part.method,
        part.headers['content-range'],
        part.headers['content-type'],
        part.headers['content-length'],
      ]),
    ).toEqual([
      ['PUT', 'bytes 0-29/63', 'application/xml', '30'],
      ['PUT', 'bytes 30-59/63', 'application/xml', '30'],
      ['PUT', 'bytes 60-62/63', 'application/xml', '3'],
    ]);
    expect(Buffer.concat(parts.map((part) => part.body['bytes'] as Buffer)).equals(XML)).toBe(true);
    for (const part of parts)
      expect(registry.goodTokens.has(part.authorization?.replace('token ', '') ?? '')).toBe(true);
    expect(registry.calls('/documents/send_large')[0]?.body).toMatchObject({ bulk_processing: false });
    await by.close();
    const strict = await opened({ linkRewrite: null });
    const result = await strict.operations.largeDocuments.run('main', { xml: XML, signature, requestId: 'r' });
    expect(result).toMatchObject({
      at: { next: 'upload' },
      stopped: { kind: 'not_sent', reason: expect.stringContaining('other.example') },
    });
  });

  it('read a file of an export that is longer than any JSON may be', async () => {
    client = new UndiciRegistryClient({
      baseUrl: registry.url,
      profile: loadProfile('mdlp'),
      accounts,
      budgets,
      sessions: new PostgresSessionStore(db.pool, { key: randomBytes(32) }),
      clock: systemClock,
      maxJsonBytes: 1_000,
    });
    script('/results/r/file', { status: 200, body: `PK${'x'.repeat(5_000)}`, type: 'application/zip' });
    const outcome = await client.operations.exports.file('main', 'r');
    expect(outcome.kind === 'ok' && outcome.value.bytes.length).toBe(5_002);
    script('/reestr/sgtin/none', { status: 200, body: `{"x":"${'x'.repeat(5_000)}"}` });
    expect(await client.operations.sgtins.one('main', 'none')).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('more than 1000 bytes'),
    });
  });
});
