import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { PostgresEventStore, type EventStore, type RecordedEvent } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { accessLogProjection, type AccessEntry } from '#read-models';
import { catchUpProjection } from '#subscriptions';
import { until } from '../../../../test/support/until.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { makeKey, revokeKey } from '../../test/keys.js';
import { TestHarness, type Answer } from '../../test/test-harness.js';

let db: TestDatabase;
let harness: TestHarness;
let store: EventStore;
let auditor: string;
let erp: string;
let opened: string;
const BYTES = Buffer.from('<receipt/>');

beforeAll(async () => {
  db = await testDatabase(TestHarness.schemas);
  harness = await TestHarness.start(db);
  store = new PostgresEventStore({ pool: db.pool });
  auditor = await makeKey(db.pool, 'inspector-tool', ['auditor']);
  erp = await makeKey(db.pool, 'erp', ['erp']);
  opened = await new PostgresEvidenceStore({ pool: db.pool }).put(BYTES, 'application/xml');
});
afterAll(() => harness.stop());

const ask = (path: string, key = auditor, accept?: string): Promise<Answer> =>
  harness.ask(path, { headers: { authorization: `Bearer ${key}`, ...(accept === undefined ? {} : { accept }) } });
/** Of all days: midnight may pass. */
const recorded = async (): Promise<RecordedEvent[]> =>
  (await store.readAll(0n, { filter: { streamPrefixes: ['access-'] }, limit: 10_000 })).events;
const ofType = async (type: string): Promise<RecordedEvent[]> => (await recorded()).filter((one) => one.type === type);
async function entries(query: string): Promise<AccessEntry[]> {
  await catchUpProjection({ projection: accessLogProjection(), store, pool: db.pool });
  const answer = await ask(`/v1/access-log?${query}`);
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  return answer.json<{ items: AccessEntry[] }>().items;
}

describe('who did what', () => {
  it('tells of evidence that was opened, once a day and caller, with the key and why', async () => {
    const path = `/v1/evidence/${opened}`;
    for (let n = 0; n < 30; n += 1) expect((await ask(path)).text).toBe(BYTES.toString());
    expect((await ask(`${path}?reason=the%20inspection`)).status).toBe(200);
    expect(
      (await ofType('EvidenceOpened')).map(({ data, metadata }) => [data, metadata.actor, metadata.reason]),
    ).toEqual(
      [undefined, 'the inspection'].map((reason) => [
        { openedSha256: opened, mediaType: 'application/xml', byteLength: BYTES.length, address: '127.0.0.1' },
        { kind: 'system', name: 'inspector-tool', authenticatedBy: 'api-key' },
        reason,
      ]),
    );
    expect((await entries(`object=${opened}&actor=inspector-tool&kind=evidence`)).map((one) => one.reason)).toEqual([
      'the inspection',
      undefined,
    ]);
  });

  it('tells nothing of evidence that is not there, and refuses a document that does not name it', async () => {
    const before = (await ofType('EvidenceOpened')).length;
    expect((await ask(`/v1/evidence/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await ask(`/v1/evidence/${opened}`, erp)).status).toBe(403);
    const other = await ask(`/v1/evidence/${opened}?document=5f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01`);
    expect([other.status, other.json()['field']]).toEqual([400, 'document']);
    expect(await ofType('EvidenceOpened')).toHaveLength(before);
  });

  it('refuses evidence and exports that cannot be recorded, and gives no byte of them', async () => {
    await db.pool.query('ALTER FUNCTION append_batch RENAME TO append_batch_away');
    const fresh = await new PostgresEvidenceStore({ pool: db.pool }).put(Buffer.from('<secret/>'), 'application/xml');
    try {
      const answers = [await ask(`/v1/evidence/${fresh}`), await ask('/v1/cases', auditor, 'text/csv')];
      for (const answer of answers) {
        expect([answer.status, answer.headers.get('content-type')?.split(';')[0], answer.json()['code']]).toEqual([
          503,
          'application/problem+json',
          'unavailable',
        ]);
        expect(answer.headers.get('retry-after')).not.toBeNull();
        expect(answer.text).not.toContain('<secret/>');
      }
      expect((await ask('/v1/documents')).status).toBe(200);
    } finally {
      await db.pool.query('ALTER FUNCTION append_batch_away RENAME TO append_batch');
    }
    expect((await ask(`/v1/evidence/${fresh}`)).status).toBe(200);
  });

  it('tells of an export what it was, by which filter, how many rows, and the digest of its bytes', async () => {
    await entries('kind=evidence');
    const lists = [
      { accept: 'application/x-ndjson', what: '/v1/access-log', filter: { kind: 'evidence' }, rows: 3 },
      { accept: 'text/csv', what: '/v1/cases', filter: { severity: 'critical' }, rows: 0 },
    ];
    for (const { accept, rows, ...asked } of lists) {
      const answer = await ask(`${asked.what}?${new URLSearchParams(asked.filter).toString()}`, auditor, accept);
      expect(answer.status).toBe(200);
      const events = await recorded();
      const [begun, ended] = events.slice(-2) as [RecordedEvent, RecordedEvent];
      expect([begun.type, begun.data]).toEqual([
        'ExportBegun',
        {
          exportId: begun.data['exportId'],
          ...{ ...asked, format: accept, address: '127.0.0.1' },
        },
      ]);
      expect([ended.type, ended.data]).toEqual([
        'ExportEnded',
        {
          exportId: begun.data['exportId'],
          ...{ what: asked.what, complete: true, rows, byteLength: Buffer.byteLength(answer.text) },
          fileSha256: createHash('sha256').update(answer.text).digest('hex'),
        },
      ]);
    }
    const excel = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
    expect((await ask('/v1/cases', auditor, excel)).status).toBe(200);
    expect((await recorded()).slice(-2).map((one) => [one.type, one.data['rows'] ?? 'no rows'])).toEqual([
      ['ExportBegun', 'no rows'],
      ['ExportEnded', 0],
    ]);
    const before = (await recorded()).length;
    expect((await ask('/v1/cases')).status).toBe(200);
    // Nothing goes out: who asks every second whether there is something leaves no trace in the log.
    const empty = await ask('/v1/cases', auditor, 'application/x-ndjson');
    expect([empty.status, empty.text]).toEqual([200, '']);
    expect(await recorded()).toHaveLength(before);
    expect(await entries('kind=export&object=/v1/cases')).toHaveLength(4);
  });

  it('tells the same bytes once: who asks for them every second leaves one export a day', async () => {
    const before = (await recorded()).length;
    for (let n = 0; n < 5; n += 1) await ask('/v1/cases?severity=warning', auditor, 'text/csv');
    const told = (await recorded()).slice(before);
    expect(told.map(({ type }) => type)).toEqual(['ExportBegun', 'ExportEnded']);
  });

  it('is told to auditors, and to nobody else', async () => {
    expect((await ask('/v1/access-log', erp)).status).toBe(403);
    const operator = await makeKey(db.pool, 'operator', ['operator']);
    expect((await ask('/v1/access-log', operator)).status).toBe(403);
    expect(
      (await entries('kind=key&object=operator')).map(({ type, actor, reason }) => [type, actor.name, reason]),
    ).toEqual(expect.arrayContaining([['ApiKeyMade', 'olga', 'a test']]));
    expect((await ask('/v1/access-log?kind=nothing')).json()['field']).toBe('kind');
    expect((await ask('/v1/access-log?limit=100000')).json()['field']).toBe('limit');
  });
});

describe('two gateways', () => {
  let second: TestHarness;
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await second.stop();
    isStopped = true;
  };
  beforeAll(async () => {
    second = await TestHarness.start({ ...db, drop: () => Promise.resolve() });
  });
  afterAll(stop);

  it('make one event of an opening, however often both are asked', async () => {
    const evidence = await new PostgresEvidenceStore({ pool: db.pool }).put(Buffer.from('<both/>'), 'application/xml');
    const path = `/v1/evidence/${evidence}`;
    const headers = { authorization: `Bearer ${auditor}` };
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => harness.ask(path, { headers })),
      ...Array.from({ length: 20 }, () => second.ask(path, { headers })),
    ]);
    expect(answers.map((one) => one.status)).toEqual(answers.map(() => 200));
    expect((await ofType('EvidenceOpened')).filter((one) => one.data['openedSha256'] === evidence)).toHaveLength(1);
  });

  it('tell at a stop of the keys that were refused, in one event, without a word of the keys', async () => {
    const gone = await makeKey(db.pool, 'gone', ['erp']);
    await revokeKey(db.pool, 'gone');
    const wrong = `Bearer pdg_${'guess'.repeat(8)}`;
    const before = (await recorded()).length;
    for (let n = 0; n < 300; n += 1) await second.ask('/v1/summary', { headers: { authorization: wrong } });
    await second.ask('/v1/summary', { headers: { authorization: `Bearer ${gone}` } });
    await second.ask('/v1/access-log', { headers: { authorization: `Bearer ${erp}` } });
    expect(await recorded()).toHaveLength(before);
    await stop();
    const [told] = (await recorded()).slice(before) as [RecordedEvent];
    expect(await recorded()).toHaveLength(before + 1);
    expect([told.type, told.data['refusals']]).toEqual([
      'ApiKeysRefused',
      [
        { fault: 'unknown', network: '127.0.0.1', count: 300 },
        { fault: 'revoked', network: '127.0.0.1', key: 'gone', count: 1 },
        { fault: 'wrong_role', network: '127.0.0.1', key: 'erp', count: 1 },
      ],
    ]);
    const log = JSON.stringify((await recorded()).map((one) => [one.data, one.metadata]));
    for (const secret of ['guess', gone, erp, auditor]) expect(log).not.toContain(secret);
  });
});

describe('an export that breaks off', () => {
  it('is told as not complete', async () => {
    await db.pool
      .query(`INSERT INTO access_entry SELECT n, 'access-x', n, 'EvidenceOpened', 'evidence', now(), 'system',
      'filler', 'test', NULL, '[]', jsonb_build_object('text', repeat('x', 2000)) 
      FROM generate_series(100001, 160000) n`);
    const gone = new AbortController();
    const answer = await fetch(`${harness.gateway.url}/v1/access-log?actor=filler`, {
      headers: { authorization: `Bearer ${auditor}`, accept: 'application/x-ndjson' },
      signal: gone.signal,
    });
    const reader = answer.body?.getReader();
    await reader?.read();
    gone.abort();
    await reader?.cancel().catch(() => undefined);
    await until('its end', async () => (await recorded()).at(-1)?.type === 'ExportEnded');
    const [begun, ended] = (await recorded()).slice(-2) as [RecordedEvent, RecordedEvent];
    expect([begun.type, ended.type, ended.data['complete']]).toEqual(['ExportBegun', 'ExportEnded', false]);
    expect(ended.data['exportId']).toBe(begun.data['exportId']);
  });
});
