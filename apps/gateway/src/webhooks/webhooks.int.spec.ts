import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { installationSchema } from '#postgres';
import { readModelSchemas, removeOutcomes } from '#read-models';
import { TokenCipher } from '#registry-client';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { OutcomeNotifier } from '../outcomes/outcome-notifier.js';
import { outcomesSchema } from '../outcomes/delivery-table.js';
import { AddressRules, blockList } from './addresses.js';
import { runWebhooks, type RunWebhooksOptions } from './run-webhooks.js';
import { webhooksSchema } from './schema.js';
import { Webhooks, type Webhook } from './webhooks.js';

const ACTOR = { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const;
const cipher = new TokenCipher(Buffer.alloc(32, 7));
const rules = new AddressRules();

interface Received {
  path: string | undefined;
  headers: Record<string, string>;
  body: string;
  at: number;
}

/** Whoever receives: keeps what came, and answers as the test says. */
class Receiver {
  readonly received: Received[] = [];
  answer: (n: number, response: ServerResponse, subject: string) => void = (_, response) =>
    response.writeHead(204).end();
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void receiver.take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/outcomes`;
  }

  get numbers(): number[] {
    return this.received.map((one) => (JSON.parse(one.body) as { n: number }).n);
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const headers = request.headers as Record<string, string>;
    this.received.push({ path: request.url, headers, body, at: performance.now() });
    this.answer(this.received.length, response, (JSON.parse(body) as { subject: string }).subject);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

let db: TestDatabase;
let store: PostgresEventStore;
let notifier: OutcomeNotifier;
let receiver: Receiver;
let webhooks: Webhooks;
let end: AbortController;
let running: Promise<void>[];

beforeAll(async () => {
  db = await testDatabase([installationSchema, eventStoreSchema, ...readModelSchemas, outcomesSchema, webhooksSchema]);
  store = new PostgresEventStore({ pool: db.pool });
  webhooks = new Webhooks({
    pool: db.pool,
    store,
    rules,
    cipher,
    participant: 'own',
    softwareVersion: '0',
    profile: 'test',
    mostWebhooks: 3,
  });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query('TRUNCATE outcome_event, outcome_removed, outcome_delivery, webhook');
  notifier = new OutcomeNotifier({ pool: db.pool, pollMs: 5 });
  receiver = await Receiver.start();
  end = new AbortController();
  running = [];
});
afterEach(async () => {
  end.abort();
  await notifier.close();
  await Promise.all(running);
  await receiver.stop();
});

/** Outcomes of the positions `from` to `to`, of three documents in turn. */
const tell = (from: number, to: number) =>
  db.pool.query(
    `INSERT INTO outcome_event SELECT n, ('00000000-0000-5000-8000-' || lpad(n::text, 12, '0'))::uuid, 't',
        'document.concluded.accepted', 's' || n % 3,
       json_build_object('n', n, 'subject', 's' || n % 3)::text, clock_timestamp() FROM generate_series($1::int,
         $2::int) AS n`,
    [from, to],
  );
const start = (over: Partial<RunWebhooksOptions> = {}): void => {
  const options = {
    pool: db.pool,
    notifier,
    rules,
    cipher,
    softwareVersion: '1',
    signal: end.signal,
    retryFirstMs: 1,
    retryMostMs: 5,
    mostFailures: 6,
    standbyMs: 5,
    lookEveryMs: 5,
    report: () => undefined,
  };
  running.push(runWebhooks({ ...options, ...over }));
};
const add = (over: Partial<Parameters<Webhooks['add']>[0]> = {}) =>
  webhooks.add({ url: receiver.url, from: 'oldest', ...over }, ACTOR);
const only = async (): Promise<Webhook | undefined> => (await webhooks.list())[0];
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
/** Per document, what arrived first of each outcome, in its order. */
const firstsByDocument = (numbers: number[]): number[][] =>
  [0, 1, 2].map((document) => [...new Set(numbers.filter((n) => n % 3 === document))]);
const inOrder = (count: number): number[][] =>
  [0, 1, 2].map((document) => upTo(count).filter((n) => n % 3 === document));

describe('webhooks', () => {
  it('get every outcome, signed as Standard Webhooks says, in order per document', async () => {
    await tell(1, 40);
    const { secret } = await add();
    start();
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(receiver.numbers.sort((a, b) => a - b)).toEqual(upTo(40));
    expect(firstsByDocument(receiver.numbers)).toEqual(inOrder(40));
    const [first] = receiver.received as [Received];
    expect(new StandardWebhook(secret).verify(first.body, first.headers)).toEqual(JSON.parse(first.body));
    expect(() => new StandardWebhook(secret).verify(`${first.body} `, first.headers)).toThrow('No matching signature');
    expect(first.headers['webhook-signature']).toMatch(/^v1,\S+$/);
    expect(first.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'user-agent': 'pedigree/1',
    });
    expect(receiver.received.map((one) => one.headers['webhook-id']).sort()).toEqual(
      upTo(40).map((n) => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`),
    );
  });

  it('post to the whole address, and never show what follows its question mark', async () => {
    await tell(1, 1);
    const { id, url } = await add({ url: `${receiver.url}?key=a&token=Zq9` });
    start();
    await until('it arrived', () => receiver.received.length === 1);
    expect(receiver.received[0]?.path).toBe('/outcomes?key=a&token=Zq9');
    const shown = [url, (await only())?.url, (await webhooks.resume(id, { from: 'here', actor: ACTOR })).url];
    expect(shown).toEqual(Array.from({ length: 3 }, () => `${receiver.url}?***`));
  });

  it('begin with what comes from now on unless the oldest is asked for, and end when they are removed', async () => {
    await tell(1, 5);
    const { id } = await add({ from: 'now' });
    start();
    await tell(6, 7);
    await until('the new ones arrived', () => receiver.received.length === 2);
    expect(receiver.numbers.sort()).toEqual([6, 7]);
    await webhooks.remove(id, { actor: ACTOR });
    await tell(8, 9);
    await add({ from: 'now' });
    await tell(10, 10);
    await until('the other webhook works', () => receiver.numbers.includes(10));
    expect(receiver.numbers).not.toContain(8);
  });

  it('begin and go on with what comes from now on also where the outbox is being filled anew, after a restore', async () => {
    await db.pool.query(`INSERT INTO outcome_delivery (name, position) VALUES ('bus', 5)`);
    const made = await add({ from: 'now' });
    const { id } = await add({ from: 'oldest' });
    const resumed = await webhooks.resume(id, { from: 'now', actor: ACTOR });
    expect([made.position, resumed.position]).toEqual(['5', '5']);
    await tell(1, 7);
    start();
    await until('the new ones arrived', () => receiver.received.length === 4);
    expect(receiver.numbers.sort()).toEqual([6, 6, 7, 7]);
  });

  it('are tried again with growing pauses, in order per document, and under the same id', async () => {
    await tell(1, 12);
    await add();
    receiver.answer = (n, response) => response.writeHead(n % 3 === 0 ? 200 : 500).end('x'.repeat(n));
    start();
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(firstsByDocument(receiver.numbers)).toEqual(inOrder(12));
    expect(await only()).toMatchObject({ state: 'active', failures: 0 });
  });

  it('halt after so many failures, say why, hold the place, and go on when they are resumed', async () => {
    await tell(1, 3);
    await add();
    let broken = true;
    receiver.answer = (_, response) => response.writeHead(broken ? 503 : 204).end();
    start();
    await until('halted', async () => (await only())?.state === 'halted');
    expect(await only()).toMatchObject({
      failures: 6,
      failingSince: expect.anything(),
      lastError: expect.stringContaining('the receiver answered 503 (outcome 00000000-'),
      position: '0',
      behind: 3,
    });
    const tried = receiver.received.length;
    broken = false;
    const { id } = (await only()) as Webhook;
    expect(receiver.received.length).toBe(tried);
    expect(await webhooks.resume(id, { from: 'here', actor: ACTOR, reason: 'mended' })).toMatchObject({
      state: 'active',
      failures: 0,
    });
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(firstsByDocument(receiver.numbers)).toEqual(inOrder(3));
    expect((await only())?.failingSince).toBeUndefined();
  });

  it('go on behind the one outcome that the receiver never takes, when a person says so, and name it', async () => {
    await tell(1, 40);
    const { id } = await add();
    receiver.answer = (n, response) => {
      const { n: number } = JSON.parse(receiver.received[n - 1]?.body ?? '') as { n: number };
      response.writeHead(number === 5 ? 413 : 204).end();
    };
    start();
    const passOver = () => webhooks.resume(id, { from: 'next', actor: ACTOR, reason: 'it is too large for the ERP' });
    await until('halted', async () => (await only())?.state === 'halted');
    const refused = '00000000-0000-5000-8000-000000000005';
    expect((await only())?.lastError).toBe(`the receiver answered 413 (outcome ${refused})`);
    expect(receiver.numbers).not.toContain(40);
    await passOver();
    await until('all others arrived', async () => (await only())?.behind === 0);
    expect(new Set(receiver.numbers)).toEqual(new Set(upTo(40)));
    expect((await store.readStream('configuration')).at(-1)?.data).toEqual({ id, from: 'next', passedOver: refused });
    // Nothing fails now: whatever comes next may be good.
    await tell(41, 41);
    await expect(passOver()).rejects.toMatchObject({ code: 'invalid_command', place: { field: '/from' } });
  });

  it('say since when they fail: from the first failure, however young the outcome, and anew once one was taken', async () => {
    await tell(1, 3);
    await add();
    receiver.answer = (_, response) => response.writeHead(500).end();
    start({ mostFailures: 1_000 });
    const failed = (times: number) => until('it failed', async () => ((await only())?.failures ?? 0) >= times);
    await failed(1);
    const { failingSince } = (await only()) as Webhook;
    await failed(4);
    expect((await only())?.failingSince).toBe(failingSince);
    // The subject of the first outcome: three subjects go out at once, and what was taken counts from the first on.
    receiver.answer = (_, response, subject) => response.writeHead(subject === 's1' ? 204 : 500).end();
    await until('one was taken, and it fails again', async () => {
      const { failures = 0, failingSince: since = '' } = (await only()) ?? {};
      return failures > 0 && since > String(failingSince);
    });
  });

  it.each([
    [
      'a redirect, which is not followed',
      (response: ServerResponse) => response.writeHead(307, { location: receiver.url }).end(),
      'the receiver answered 307, a redirect, which is not followed',
    ],
    ['silence', () => undefined, 'no answer within 1000 ms'],
    ['a connection that breaks', (response: ServerResponse) => response.destroy(), 'socket hang up'],
  ])('count as failed: %s', async (_, answer, reason) => {
    await tell(1, 1);
    await add();
    receiver.answer = (_n, response) => answer(response);
    // Where an answer comes, a busy machine may take long to bring it.
    start({ timeoutMs: reason.startsWith('no answer') ? 1_000 : 10_000, mostFailures: 2 });
    await until('halted', async () => (await only())?.state === 'halted');
    expect((await only())?.lastError).toBe(`${reason} (outcome 00000000-0000-5000-8000-000000000001)`);
    expect(receiver.received).toHaveLength(2);
  });

  it('read no more of an answer than they must', async () => {
    await tell(1, 1);
    await add();
    receiver.answer = (_, response) => {
      response.writeHead(200);
      const more = (): boolean => response.destroyed || !response.write(Buffer.alloc(65_536)) || more();
      response.on('drain', more);
      more();
    };
    start({ timeoutMs: 10_000 });
    await until('taken', async () => (await only())?.behind === 0);
  });

  it('halt at once when the receiver says 410, and wait as long as a 429 asks for, within the limit', async () => {
    await tell(1, 1);
    await add();
    receiver.answer = (n, response) => response.writeHead(n === 1 ? 429 : 410, { 'retry-after': '1' }).end();
    start({ retryMostMs: 120 });
    await until('halted', async () => (await only())?.state === 'halted');
    expect((await only())?.lastError).toContain('the receiver answered 410: it wants no more');
    expect((receiver.received[1]?.at ?? 0) - (receiver.received[0]?.at ?? 0)).toBeGreaterThanOrEqual(119);
  });

  it('go nowhere that the rules refuse, also when the rules have changed since', async () => {
    await tell(1, 1);
    await expect(add({ url: 'https://169.254.169.254/' })).rejects.toMatchObject({
      code: 'invalid_command',
      place: { field: '/url' },
    });
    const lax = new AddressRules(blockList(['169.254.0.0/16']));
    await new Webhooks({
      pool: db.pool,
      store,
      rules: lax,
      cipher,
      participant: 'own',
      softwareVersion: '0',
      profile: 'test',
    }).add({ url: 'https://169.254.169.254/', from: 'oldest' }, ACTOR);
    start({ mostFailures: 1 });
    await until('halted', async () => (await only())?.state === 'halted');
    expect((await only())?.lastError).toContain('it leads to 169.254.169.254, to which nothing is posted');
  });

  it('are served by one process at a time', async () => {
    await add();
    for (let n = 0; n < 3; n += 1) start();
    await tell(1, 60);
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(receiver.numbers.sort((a, b) => a - b)).toEqual(upTo(60));
  });

  it('post nothing twice to one that takes some documents and not others, while the process lives', async () => {
    await tell(1, 9);
    await add();
    let refusals = 4;
    receiver.answer = (_, response, subject) =>
      response.writeHead(subject === 's1' && refusals-- > 0 ? 500 : 204).end();
    start();
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(receiver.numbers.filter((n) => n % 3 !== 1).sort((a, b) => a - b)).toEqual([2, 3, 5, 6, 8, 9]);
  });
});

describe('the list of webhooks', () => {
  it('keeps the secret encrypted, tells it once, and cannot use it under another key', async () => {
    await tell(1, 1);
    const { secret, id } = await add();
    const { rows } = await db.pool.query('SELECT row_to_json(webhook)::text AS row, sealed_secret FROM webhook');
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rows[0].row).not.toContain(secret.slice(6));
    expect(rows[0].sealed_secret.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false);
    expect(JSON.stringify(await webhooks.list())).not.toContain('secret');
    expect((await store.readStream('configuration')).map((event) => JSON.stringify(event.data)).join()).not.toContain(
      secret.slice(6),
    );
    start({ cipher: new TokenCipher(Buffer.alloc(32, 8)) });
    await until('halted', async () => (await only())?.state === 'halted');
    expect((await only())?.lastError).toContain('cannot be read with this key');
    expect(receiver.received).toHaveLength(0);
    await webhooks.remove(id, { actor: ACTOR });
  });

  it('changes the secret without a gap: for a day both sign, and then the new one alone', async () => {
    const { id, secret: first } = await add();
    start();
    const came = async (n: number): Promise<Received> => {
      await tell(n, n);
      await until('it arrived', () => receiver.received.length === n);
      return receiver.received[n - 1] as Received;
    };
    const isOf = (secret: string, { body, headers }: Received): boolean => {
      try {
        new StandardWebhook(secret).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    };
    await came(1);
    const { secret: second, earlierSecretUntil } = await webhooks.rotate(id, { actor: ACTOR, reason: 'each year' });
    expect(Date.parse(earlierSecretUntil as string) - Date.now()).toBeGreaterThan(23 * 3_600_000);
    // The next look at the table brings the new secret; whatever came before it fits the old one.
    let n = 2;
    for (; !isOf(second, await came(n)); n += 1) expect(isOf(first, receiver.received[n - 1] as Received)).toBe(true);
    const [both] = receiver.received.slice(-1) as [Received];
    expect([isOf(first, both), isOf(second, both)]).toEqual([true, true]);
    // A third one takes the place of the first, which signs no more.
    const { secret: third } = await webhooks.rotate(id, { actor: ACTOR });
    do n += 1;
    while (!isOf(third, await came(n)));
    const [later] = receiver.received.slice(-1) as [Received];
    expect([first, second, third].map((secret) => isOf(secret, later))).toEqual([false, true, true]);
    await db.pool.query(`UPDATE webhook SET earlier_until = clock_timestamp() - interval '1 second'`);
    do n += 1;
    while (isOf(second, await came(n)));
    expect(isOf(third, receiver.received.at(-1) as Received)).toBe(true);
    expect((await only())?.earlierSecretUntil).toBeUndefined();
    expect((await store.readStream('configuration')).at(-1)).toMatchObject({ type: 'WebhookSecretChanged' });
  });

  it('gives one whose secret is of another key a new one, and resumes it', async () => {
    await tell(1, 1);
    const { id } = await add();
    const other = new TokenCipher(Buffer.alloc(32, 8));
    // The table is read once, at the start, and again only where a secret cannot be read.
    start({ cipher: other, lookEveryMs: 3_600_000 });
    await until('halted', async () => (await only())?.state === 'halted');
    const { pool } = db;
    const about = { participant: 'own', softwareVersion: '0', profile: 'test' };
    const changing = new Webhooks({ pool, store, rules, cipher: other, ...about });
    const { secret, earlierSecretUntil } = await changing.rotate(id, { actor: ACTOR });
    expect(earlierSecretUntil).toBeUndefined();
    await webhooks.resume(id, { from: 'here', actor: ACTOR });
    await until('it arrived', () => receiver.received.length === 1);
    const [{ body, headers }] = receiver.received as [Received];
    expect(new StandardWebhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  it('is served by the gateway that has its key, though another without it had the turn', async () => {
    await tell(1, 3);
    await add();
    start({ cipher: undefined, mostFailures: 1_000 });
    await until('it failed', async () => ((await only())?.failures ?? 0) > 1);
    start({ mostFailures: 1_000 });
    await until('all arrived', async () => (await only())?.behind === 0);
    expect((await only())?.state).toBe('active');
  });

  it('has a limit, knows only what is in it, and wants a key', async () => {
    for (let n = 0; n < 3; n += 1) await add();
    await expect(add()).rejects.toMatchObject({ code: 'invalid_command' });
    const id = '00000000-0000-4000-8000-000000000000';
    await expect(webhooks.remove(id, { actor: ACTOR })).rejects.toMatchObject({ code: 'not_found' });
    await expect(webhooks.resume(id, { from: 'here', actor: ACTOR })).rejects.toMatchObject({ code: 'not_found' });
    const keyless = new Webhooks({
      pool: db.pool,
      store,
      rules,
      cipher: undefined,
      participant: 'own',
      softwareVersion: '0',
      profile: 'test',
    });
    await expect(keyless.add({ url: receiver.url, from: 'now' }, ACTOR)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('keeps who changed it, and why, in the log, without its query string', async () => {
    const before = (await store.readStream('configuration')).length;
    const { id } = await add({ url: `${receiver.url}?token=hidden`, reason: 'the ERP has no bus' });
    await webhooks.resume(id, { from: 'now', actor: ACTOR });
    await webhooks.remove(id, { actor: ACTOR, reason: 'it has one now' });
    const events = (await store.readStream('configuration')).slice(before);
    expect(events.map((event) => [event.type, event.metadata.actor.name, event.metadata.reason])).toEqual([
      ['WebhookAdded', 'olga', 'the ERP has no bus'],
      ['WebhookResumed', 'olga', undefined],
      ['WebhookRemoved', 'olga', 'it has one now'],
    ]);
    expect(JSON.stringify(events.map((event) => [event.data, event.metadata]))).not.toContain('hidden');
  });

  it('does not resume over a gap in silence', async () => {
    await tell(1, 6);
    const { id } = await add();
    await removeOutcomes(db.pool, { before: new Date('2100-01-01'), upTo: 4n, limit: 100 });
    await db.pool.query('UPDATE outcome_delivery SET position = 2');
    start();
    await until('halted', async () => (await only())?.state === 'halted');
    expect((await only())?.lastError).toContain('were removed before they were delivered');
    await expect(webhooks.resume(id, { from: 'here', actor: ACTOR })).rejects.toMatchObject({
      code: 'outcomes_removed',
    });
    await webhooks.resume(id, { from: 'oldest', actor: ACTOR });
    await until('all arrived', async () => (await only())?.behind === 0);
    expect(receiver.numbers.sort()).toEqual([5, 6]);
  });
});
