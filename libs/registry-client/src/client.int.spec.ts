import { randomBytes } from 'node:crypto';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, VirtualClock } from '#kernel';
import { PostgresCallBudgets, tasksSchema } from '#tasks';
import { Agent, buildConnector } from 'undici';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { FakeBudgets, FakeRegistry, ok, type Behaviour, type Seen } from '../test/fake-registry.js';
import { readAccounts } from './accounts.js';
import { UndiciRegistryClient, type UndiciRegistryClientOptions } from './client.js';
import type { Account } from './port.js';
import { loadProfile, type ProfileOverrides } from './profile.js';
import { registryClientSchema } from './session/schema.js';
import { PostgresSessionStore } from './session/session-store.js';
import { verifyDetachedCms } from './signing/verify-cms.js';

const accounts = readAccounts(fileURLToPath(new URL('../../../apps/sandbox/data/accounts.json', import.meta.url)));
const KEY = randomBytes(32);
const XML = Buffer.from('<documents version="1.38"><move_order action_id="415"/></documents>');
const REQUEST_ID = '0a0a0a0a-0000-5000-8000-000000000001';
const HTML_502 = '<html><head><title>502 Bad Gateway</title></head></html>';

let db: TestDatabase;
let registry: FakeRegistry;
let budgets: FakeBudgets;
let logged: string[];
const opened: UndiciRegistryClient[] = [];
const servers: { close(): unknown }[] = [];

beforeAll(async () => {
  db = await testDatabase([registryClientSchema, tasksSchema]);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.pool.query('TRUNCATE registry_session');
  registry = await new FakeRegistry().start();
  budgets = new FakeBudgets();
  logged = [];
});
afterEach(async () => {
  // Whatever a test did: no secret of it may stand in the log.
  const log = logged.join('\n');
  for (const secret of [...registry.secrets, 'sandbox-secret-main']) expect(log).not.toContain(secret);
  await registry.stop();
  for (const server of servers.splice(0)) server.close();
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

function client(
  overrides: ProfileOverrides = {},
  options: Partial<UndiciRegistryClientOptions> & { profileName?: string } = {},
): UndiciRegistryClient {
  const write = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const made = new UndiciRegistryClient({
    baseUrl: registry.url,
    profile: loadProfile(options.profileName ?? 'mdlp', overrides),
    accounts: accounts.slice(0, 1),
    budgets,
    sessions: new PostgresSessionStore(db.pool, { key: KEY }),
    clock: systemClock,
    log: { info: write, warn: write },
    ...options,
  });
  opened.push(made);
  return made;
}

const send = async (by: UndiciRegistryClient): ReturnType<UndiciRegistryClient['sendDocument']> =>
  by.sendDocument('main', {
    xml: XML,
    signature: await by.sign('main', XML),
    requestId: REQUEST_ID,
    bulkProcessing: false,
  });
/** What one waits for until another gives it. */
function signal(): { given: Promise<void>; give(): void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give: () => give() };
}
const SENT = ok({ document_id: 'doc-1' });
const isGood = ({ authorization = '' }: Seen): boolean => registry.goodTokens.has(authorization.replace('token ', ''));
/** Signs in with a good registry, so that what follows is about the call alone. */
const signedIn = async (by: UndiciRegistryClient): Promise<void> => {
  await by.documentStatus('main', 'none');
  registry.seen.length = 0;
  budgets.slots.length = 0;
};

describe('a send', () => {
  it('signs in, carries document, signature and token by the profile, and takes a slot for every call', async () => {
    registry.script.set('/documents/send', [SENT]);
    const by = client();
    expect(await send(by)).toMatchObject({ kind: 'ok', value: { documentId: 'doc-1' }, raw: { httpStatus: 200 } });
    const [sent] = registry.calls('/documents/send');
    expect(Buffer.from(String(sent?.body['document']), 'base64').equals(XML)).toBe(true);
    expect(sent?.body).toMatchObject({ request_id: REQUEST_ID, bulk_processing: false });
    expect(
      verifyDetachedCms(XML, Buffer.from(String(sent?.body['sign']), 'base64')).certificate.equals(
        by.signerCertificate('main') ?? Buffer.alloc(0),
      ),
    ).toBe(true);
    expect(registry.goodTokens.has(sent?.authorization?.replace('token ', '') ?? '')).toBe(true);
    expect(registry.calls('/auth')[0]?.body).toEqual({
      client_id: accounts[0]?.clientId,
      client_secret: accounts[0]?.clientSecret,
      user_id: accounts[0]?.userId,
      auth_type: 'SIGNED_CODE',
    });
    expect(budgets.slots).toEqual(['main/sign_in_code', 'main/sign_in_token', 'main/send']);
    expect(by.sessions()).toEqual([
      { account: 'main', signedInAt: expect.any(Date), certificateExpiresAt: expect.any(Date) },
    ]);
  });

  it.each([
    ['an answer of 502 in HTML', [{ status: 502, body: HTML_502, type: 'text/html' }], 'HTTP 502: 502 Bad Gateway'],
    ['a connection that breaks after the request', ['reset'], 'ECONNRESET'],
    ['no answer', ['hang'], 'no answer within 300 ms'],
    ['half an answer', ['half'], 'no answer within 300 ms'],
    ['an answer without a document_id', [ok({})], 'document_id'],
  ] as [string, Behaviour[], string][])('is unknown after %s, and goes out once', async (_name, behaviours, reason) => {
    // Only who waits for nothing is impatient; the token is there by then.
    const patient = client();
    await signedIn(patient);
    const by = reason.startsWith('no answer') ? client({ rules: { requestTimeoutMs: 300 } }) : patient;
    registry.script.set('/documents/send', behaviours);
    const sent = send(by);
    while (registry.calls('/documents/send').length === 0) await new Promise(setImmediate);
    // It was written, and its answer may take its time.
    expect(budgets.unwritten.size).toBe(0);
    expect(await sent).toMatchObject({ kind: 'unknown', reason: expect.stringContaining(reason) });
    // A second attempt by the pool would come on a new connection; a call after it proves that there was time for it.
    await patient.documentStatus('main', 'none');
    expect(registry.calls('/documents/send')).toHaveLength(1);
  });

  it('is not sent when nothing listens', async () => {
    await signedIn(client());
    const gone = createTcpServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    expect(await send(client({}, { baseUrl: `http://127.0.0.1:${port}` }))).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    expect(budgets.unwritten.size).toBe(0);
  });

  it('is not sent when TLS fails, or does not come about in time', async () => {
    await signedIn(client());
    const noTls = client({}, { baseUrl: registry.url.replace('http:', 'https:') });
    expect(await send(noTls)).toMatchObject({ kind: 'not_sent', reason: expect.stringMatching(/SSL|EPROTO|TLS/i) });
    const sockets: Socket[] = [];
    const silent: TcpServer = createTcpServer((socket) => void sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    servers.push(silent, { close: () => sockets.forEach((socket) => socket.destroy()) });
    const slow = client(
      { rules: { requestTimeoutMs: 200 } },
      { baseUrl: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` },
    );
    expect(await send(slow)).toMatchObject({ kind: 'not_sent', reason: 'no answer within 200 ms' });
    expect(registry.calls('/documents/send')).toHaveLength(0);
  });

  it('is not sent by a connection that comes up after its time', async () => {
    await signedIn(client());
    const [connect, dialled, mayConnect] = [buildConnector({}), signal(), signal()];
    const dispatcher = new Agent({
      connect: (options, done) => {
        dialled.give();
        void mayConnect.given.then(() => connect(options, done));
      },
    });
    servers.push({ close: () => dispatcher.destroy() });
    let stoodStillMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + stoodStillMs };
    const by = client({}, { dispatcher, clock });
    const sending = by.sendDocument('main', {
      ...{ xml: XML, signature: undefined, requestId: REQUEST_ID },
      notAfterMonotonicMs: clock.monotonicMs() + 20_000,
    });
    await dialled.given;
    // The process stands still while the connection comes up.
    stoodStillMs = 3_600_000;
    mayConnect.give();
    const reason = 'the connection came up too late for this attempt';
    expect(await sending).toEqual({ kind: 'not_sent', reason });
    expect(registry.calls('/documents/send')).toHaveLength(0);
  });

  it('leaves the queue for slots when its time is over: others go, however many wait and however long the interval', async () => {
    const real = new PostgresCallBudgets({
      pool: db.pool,
      intervalsMs: (method) => (method === 'send' ? 100 : 0),
      ...{ guardMs: 0, slotSlackMs: 100, maxIntervalMs: 5_000 },
    });
    registry.script.set('/documents/send', [SENT]);
    const by = client({}, { budgets: real });
    await signedIn(by);
    // Ten hands wait for a second: each has a quarter of it.
    const hand = async (): Promise<void> => {
      for (let documents = 0; documents < 8; documents += 1) {
        const notAfterMonotonicMs = systemClock.monotonicMs() + 250;
        await by.sendDocument('main', { xml: XML, signature: undefined, requestId: REQUEST_ID, notAfterMonotonicMs });
      }
    };
    await Promise.all(Array.from({ length: 10 }, hand));
    const { calls = 0 } = real.figures().find(({ method }) => method === 'send') ?? {};
    const sent = registry.calls('/documents/send').length;
    expect(sent).toBeGreaterThanOrEqual(8);
    // A slot may come in the very moment in which the time is over.
    expect(calls).toBeLessThan(2 * sent);
  });

  it('is not sent without a slot', async () => {
    const refusing = new FakeBudgets();
    refusing.takeSlot = () => Promise.reject(new Error('database away'));
    await signedIn(client());
    expect(await send(client({}, { budgets: refusing }))).toEqual({
      kind: 'not_sent',
      reason: 'no slot: database away',
    });
  });

  it("is refused with the registry's code and words", async () => {
    registry.script.set('/documents/send', [
      { status: 400, body: '{"error_code":"7","error_description":"wrong sys"}' },
    ]);
    expect(await send(client())).toMatchObject({
      kind: 'refused',
      code: '7',
      text: 'wrong sys',
      raw: { httpStatus: 400 },
    });
  });

  it('is limited: what the 429 says is learnt', async () => {
    registry.script.set('/documents/send', [
      {
        status: 429,
        body: '{"error_description":"Interval between calls is 250 ms"}',
        headers: { 'retry-after': '2' },
      },
    ]);
    expect(await send(client())).toMatchObject({ kind: 'rate_limited', text: 'Interval between calls is 250 ms' });
    expect(budgets.learnt).toEqual([{ account: 'main', method: 'send', intervalMs: 250, retryAfterMs: 2000 }]);
    expect(registry.calls('/documents/send')).toHaveLength(1);
  });

  it('is counted and learnt by the real budgets, sign-in included', async () => {
    const real = new PostgresCallBudgets({
      pool: db.pool,
      intervalsMs: (method) => (method === 'send' ? 20 : 0),
      guardMs: 3,
      slotSlackMs: 100,
      maxIntervalMs: 5_000,
    });
    registry.script.set('/documents/send', [
      { status: 429, body: '{"error_description":"the interval is 30 ms"}' },
      SENT,
    ]);
    const by = client({}, { budgets: real });
    expect([(await send(by)).kind, (await send(by)).kind]).toEqual(['rate_limited', 'ok']);
    const figures = Object.fromEntries(real.figures().map((line) => [line.method, line]));
    expect(figures['sign_in_code']).toMatchObject({ account: 'main', calls: 1, rateLimited: 0 });
    expect(figures['sign_in_token']).toMatchObject({ calls: 1 });
    expect(figures['send']).toMatchObject({ calls: 2, rateLimited: 1 });
    expect(figures['send']?.intervalMs).toBeGreaterThanOrEqual(30);
    const apartMs = (figures['send']?.lastCallMonotonicMs ?? 0) - (figures['send']?.firstCallMonotonicMs ?? 0);
    expect(apartMs).toBeGreaterThanOrEqual(30);
  });

  it('refuses what the caller got wrong before any call', async () => {
    const by = client({ rules: { maxDocumentBytes: 10 } });
    await expect(send(by)).rejects.toMatchObject({ code: 'body_too_large', place: { item: REQUEST_ID } });
    await expect(by.sign('nobody', XML)).rejects.toMatchObject({ code: 'unknown_account' });
    await expect(by.listOutgoing('main', { documentIds: Array.from({ length: 101 }, String) })).rejects.toMatchObject({
      code: 'invalid_parameter',
    });
    expect(registry.seen).toEqual([]);
    expect(() => client({}, { baseUrl: 'ftp://x' })).toThrow('registry address');
  });
});

it('a status is absent only in the words of the registry', async () => {
  const by = client();
  expect((await by.documentStatus('main', 'a')).kind).toBe('not_found');
  registry.script.set('/documents/a', [{ status: 404, body: '<html><body>no route</body></html>', type: 'text/html' }]);
  expect(await by.documentStatus('main', 'a')).toMatchObject({ kind: 'refused', mayBeOthers: true });
});

describe('the token', () => {
  it('is one for two processes', async () => {
    const [one, two] = [client(), client()];
    await Promise.all([
      one.documentStatus('main', 'a'),
      two.documentStatus('main', 'b'),
      one.documentStatus('main', 'c'),
    ]);
    expect(registry.goodTokens.size).toBe(1);
    expect(registry.calls('/token')).toHaveLength(1);
    expect(
      new Set([...registry.calls('/documents/a'), ...registry.calls('/documents/b')].map((call) => call.authorization))
        .size,
    ).toBe(1);
  });

  it('is renewed once at a 401, and a send too is repeated once', async () => {
    const by = client();
    await signedIn(by);
    registry.script.set('/documents/send', [{ status: 401, body: '' }, SENT]);
    expect(await send(by)).toMatchObject({ kind: 'ok' });
    const [first, second] = registry.calls('/documents/send');
    expect(second?.authorization).not.toBe(first?.authorization);
    expect(budgets.slots).toEqual(['main/send', 'main/sign_in_code', 'main/sign_in_token', 'main/send']);
  });

  it('is renewed once only: after a second 401 the call counts as not made, for nothing was said of the document', async () => {
    const by = client();
    await signedIn(by);
    registry.script.set('/documents/send', [{ status: 401, body: '{"error_description":"no"}' }]);
    expect(await send(by)).toEqual({ kind: 'not_sent', reason: expect.stringContaining('two tokens') as unknown });
    expect(registry.calls('/documents/send')).toHaveLength(2);
    expect(registry.calls('/token')).toHaveLength(1);
  });

  it('is kept where one method alone refuses it: other tokens would be refused as well, and there are ten', async () => {
    registry.script.set('/documents/send', [{ status: 401, body: '' }]);
    const by = client();
    for (let round = 0; round < 6; round += 1) {
      expect(await by.documentStatus('main', 'a')).toMatchObject({ kind: 'not_found' });
      expect(await send(by)).toMatchObject({ kind: 'not_sent', reason: expect.stringContaining('HTTP 401') });
    }
    // The first, another one at the 401, and one more for the other calls.
    expect(registry.calls('/token')).toHaveLength(3);
    registry.script.set('/documents/send', [SENT]);
    expect(await send(by)).toMatchObject({ kind: 'ok' });
  });

  it('is another one where it has ended, though one method had refused it before', async () => {
    registry.script.set('/documents/send', [{ status: 401, body: '' }]);
    const by = client();
    await signedIn(by);
    await send(by);
    await by.documentStatus('main', 'a');
    registry.goodTokens.clear();
    registry.script.set('/documents/send', [(call) => (isGood(call) ? SENT : { status: 401, body: '' })]);
    expect((await send(by)).kind).toBe('not_sent');
    expect((await send(by)).kind).toBe('ok');
  });

  it('is missed: the call was not sent, and no secret is in the reason', async () => {
    const [account] = accounts;
    registry.script.set('/auth', [
      { status: 400, body: JSON.stringify({ error_description: `bad secret ${account?.clientSecret}` }) },
    ]);
    // The pause is a second: time stands still, so that it is not over before the next call.
    const still = { clock: new VirtualClock(systemClock.now()) };
    expect(await send(client({}, still))).toEqual({
      kind: 'not_sent',
      reason: 'sign-in (code) refused: bad secret [removed]',
    });
    expect(await send(client({}, still))).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringContaining('paused'),
    });
    expect(registry.calls('/auth')).toHaveLength(1);
    expect(registry.calls('/documents/send')).toHaveLength(0);
  });

  it.each([
    ['in its own words', '{"error_description":"no right"}', ['rights']],
    ['by a page of a server before it', '<html><title>Forbidden</title></html>', []],
  ])('is refused with 403 %s: that tells of the account, or does not', async (_, body, expected) => {
    registry.script.set('/auth', [{ status: 403, body, type: 'text/html' }]);
    const causes: string[] = [];
    const by = client({}, { onAccountFault: (_account, { cause }) => void causes.push(cause) });
    expect((await send(by)).kind).toBe('not_sent');
    expect(causes).toEqual(expected);
  });

  it.each([400, 429, 502, 200])('is not in an answer with %i that repeats what was sent', async (status) => {
    const by = client();
    await signedIn(by);
    registry.script.set('/documents/send', [
      ({ authorization }) => ({ status, type: 'text/html', body: `<p>seen: ${authorization}</p> ${authorization}` }),
    ]);
    const outcome = await send(by);
    const told = JSON.stringify({ ...outcome, body: 'raw' in outcome ? outcome.raw?.body.toString() : undefined });
    expect(told).toContain('<p>seen: token [removed]</p> token [removed]');
    for (const secret of registry.secrets) expect(told).not.toContain(secret);
  });

  it('may exist unseen when its answer got lost: then it counts among the ten', async () => {
    registry.script.set('/token', ['reset']);
    expect(await send(client())).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringContaining('sign-in (token) unknown: '),
    });
    const { rows } = await db.pool.query<{ abandoned_until: Date[]; failures: number }>(
      'SELECT abandoned_until, failures FROM registry_session',
    );
    expect(rows).toEqual([{ abandoned_until: [expect.any(Date)], failures: 1 }]);
  });

  it('was surely not issued where the code could not be signed: a signer that is away uses up none of the ten', async () => {
    const signer = {
      kind: 'command' as const,
      command: ['false'],
      folder: '.',
      environment: {},
      timeLimitMs: 10_000,
      concurrency: 1,
    };
    const clock = new VirtualClock(systemClock.now());
    const by = client({}, { clock, accounts: [{ ...(accounts[0] as Account), signer }] });
    for (let failures = 1; failures <= 10; failures += 1) {
      expect(await by.prepare('main')).toMatchObject({ reason: expect.stringContaining('false ended with status 1') });
      clock.advance(60_000);
    }
    expect(registry.calls('/token')).toEqual([]);
    // It signs again, and so does the sign-in at once.
    expect(await client({}, { clock }).prepare('main')).toEqual({ kind: 'ready' });
  });

  it('cannot be had while the database is away: the call was not sent', async () => {
    const sessions = new PostgresSessionStore({ query: () => Promise.reject(new Error('database away')) } as never, {
      key: KEY,
    });
    expect(await send(client({}, { sessions }))).toEqual({ kind: 'not_sent', reason: 'sessions: database away' });
  });

  it('is signed out only when asked, for all processes', async () => {
    const by = client();
    await signedIn(by);
    await by.close();
    expect(registry.seen).toEqual([]);
    registry.script.set('/auth/logout', [{ status: 200, body: '' }]);
    const [token] = registry.goodTokens;
    expect(await client().signOut('main')).toMatchObject({ kind: 'ok' });
    expect(registry.calls('/auth/logout')[0]?.authorization).toBe(`token ${token}`);
    await client().documentStatus('main', 'x');
    expect(registry.goodTokens.size).toBe(2);
  });
});

describe('reads', () => {
  const metadata = {
    document_id: 'doc-1',
    request_id: REQUEST_ID,
    doc_type: 415,
    date: '2026-11-21 10:00:00',
    sender: 's',
  };

  it('tell the status, or that there is no such document', async () => {
    registry.script.set('/documents/doc-1', [ok({ ...metadata, doc_status: 'PROCESSED_DOCUMENT', doc_num: 'A\\B"C' })]);
    const by = client();
    expect(await by.documentStatus('main', 'doc-1')).toMatchObject({
      kind: 'ok',
      value: { status: 'processed', docNum: 'A\\B"C', receivedAt: '2026-11-21T07:00:00.000Z' },
    });
    expect(await by.documentStatus('main', 'doc-2')).toMatchObject({ kind: 'not_found', text: 'nothing here' });
  });

  it('tell no status by an answer about another document: nothing may follow from it', async () => {
    registry.script.set('/documents/doc-2', [ok({ ...metadata, doc_status: 'FAILED' })]);
    registry.script.set('/documents/DOC-1', [ok({ ...metadata, doc_status: 'FAILED' })]);
    const by = client();
    expect(await by.documentStatus('main', 'doc-2')).toMatchObject({
      kind: 'unknown',
      reason: 'HTTP 200: it is about document doc-1',
    });
    expect(await by.documentStatus('main', 'DOC-1')).toMatchObject({ kind: 'ok', value: { status: 'failed' } });
  });

  it('are asked for as they are: what is compressed would not be understood', async () => {
    await client().documentStatus('main', 'doc-1');
    expect(registry.seen.map(({ headers }) => headers['accept-encoding'])).toEqual([
      'identity',
      'identity',
      'identity',
    ]);
  });

  it('list a page by GET or POST, as the profile says', async () => {
    registry.script.set('/documents/outcome', [
      ok({ documents: [{ ...metadata, doc_status: 'FAILED', status: 'FAILED' }], total: 7 }),
    ]);
    const page = { kind: 'ok', value: { total: 7, documents: [{ documentId: 'doc-1', status: 'failed' }] } };
    expect(await client().listOutgoing('main', { documentIds: ['doc-1'] })).toMatchObject(page);
    expect(
      await client({}, { profileName: 'interface-v1' }).listOutgoing('main', { documentIds: ['doc-1'] }),
    ).toMatchObject(page);
    const [post, get] = registry.calls('/documents/outcome');
    expect(post).toMatchObject({
      method: 'POST',
      body: { filter: { document_ids: ['doc-1'] }, start_from: 0, count: 100 },
    });
    expect(get).toMatchObject({
      method: 'GET',
      url: '/api/v1/documents/outcome?document_ids=doc-1&start_from=0&count=100',
      body: {},
    });
  });

  it("find by request_id none, one or more; a proxy's 404 proves nothing", async () => {
    const entry = { ...metadata, doc_status: 'PROCESSING_DOCUMENT' };
    const answers: Behaviour[] = [
      ok({ documents: [], total: 0 }),
      ok({ documents: [entry, entry], total: 2 }),
      { status: 404, body: '{"error_description":"none"}' },
      { status: 404, body: '<html></html>', type: 'text/html' },
    ];
    registry.script.set(`/documents/request/${REQUEST_ID}`, answers);
    const by = client();
    const found: unknown[] = [];
    for (let i = 0; i < 4; i += 1) {
      const outcome = await by.findByRequestId('main', REQUEST_ID);
      found.push(outcome.kind === 'ok' ? outcome.value.length : outcome.kind);
    }
    expect(found).toEqual([0, 2, 0, 'refused']);
  });

  it('stop at an answer that is too large', async () => {
    registry.script.set('/documents/doc-1', [ok({ ...metadata, doc_status: 'FAILED', doc_num: 'x'.repeat(5000) })]);
    expect(await client({}, { maxJsonBytes: 1000 }).documentStatus('main', 'doc-1')).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('more than 1000 bytes'),
      isUseless: true,
    });
  });
});

describe('receipts and documents', () => {
  const TICKET = '<documents><result action_id="200"/></documents>';

  it('come by a link, fetched with the token from the base address whatever host it names', async () => {
    registry.script.set('/documents/doc-1/ticket', [
      ok({ link: 'https://api.registry.example/webdav/doc-1/ticket_doc-1' }),
    ]);
    registry.script.set('/webdav/doc-1/ticket_doc-1', [
      { status: 200, body: TICKET, type: 'application/octet-stream' },
    ]);
    const by = client();
    const outcome = await by.receipt('main', 'doc-1');
    expect(outcome).toMatchObject({ kind: 'ok', raw: { contentType: expect.stringContaining('json') } });
    expect(outcome.kind === 'ok' && outcome.value.xml.toString()).toBe(TICKET);
    expect(registry.calls('/ticket_doc-1')[0]).toMatchObject({
      method: 'GET',
      authorization: expect.stringMatching(/^token token-/),
    });
    expect(budgets.slots.slice(2)).toEqual(['main/receipt', 'main/fetch_link']);
  });

  it('never take the token to another host where links must be of the base address', async () => {
    const other = await new FakeRegistry().start();
    servers.push({ close: () => void other.stop() });
    registry.script.set('/documents/download/doc-1', [ok({ link: `${other.url}/webdav/doc-1` })]);
    expect(await client({ linkRewrite: null }).downloadDocument('main', 'doc-1')).toMatchObject({
      kind: 'refused',
      code: 'foreign_link',
    });
    expect(other.seen).toEqual([]);
  });

  it('come in the body where the profile says so', async () => {
    registry.script.set('/documents/doc-1/ticket', [{ status: 200, body: TICKET, type: 'application/xml' }]);
    const outcome = await client({ operations: { receipt: { answersWith: 'body' } } }).receipt('main', 'doc-1');
    expect(outcome.kind === 'ok' && outcome.value.xml.toString()).toBe(TICKET);
    expect(budgets.slots.slice(2)).toEqual(['main/receipt']);
  });

  it('are not there yet, or are no XML', async () => {
    const by = client();
    expect(await by.receipt('main', 'doc-1')).toMatchObject({ kind: 'not_found' });
    registry.script.set('/documents/doc-1/ticket', [ok({ link: '/webdav/t' })]);
    registry.script.set('/webdav/t', [{ status: 200, body: '<!doctype html><html></html>', type: 'text/html' }]);
    expect(await by.receipt('main', 'doc-1')).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('not XML'),
    });
  });
});
