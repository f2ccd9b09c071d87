import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentStream, type SendAttempted } from '#domain';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { systemClock, uuid5 } from '#kernel';
import { installationId } from '#postgres';
import {
  loadProfile,
  openSigner,
  PostgresSessionStore,
  readAccounts,
  UndiciRegistryClient,
  watchCertificates,
  type Account,
  type Log,
  type Signer,
} from '#registry-client';
import { PostgresCallBudgets } from '#tasks';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { sampleDay, type SampleCommand } from '../../apps/cli/src/sample/day.js';
import { feed, summarise, waitForConclusion, type OutcomeRow } from '../../apps/cli/src/sample/feed.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway, type RunningGateway } from '../../apps/gateway/src/gateway.js';
import { startSandbox, type Sandbox } from '../../apps/sandbox/src/main.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { caughtUp } from '../support/caught-up.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { askControl } from '../support/sandbox-control.js';

/** Every way to sign, from the command to the receipt: each account sends one document. */
const SECRETS = {
  client: 'client-secret-8812',
  password: 'correct-horse-5501',
  pin: 'key-pin-7734',
  service: 'service-secret-2209',
};
const LIMIT_MS = 180_000;
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const hasGost = spawnSync('openssl', ['engine', 'gost']).status === 0;

let folder: string;
let db: TestDatabase;
let sandbox: Sandbox;
let service: Server;
let north: Signer;
let gateway: RunningGateway;
let worker: RunningWorker;
let day: SampleCommand[];
let names: string[];

const at = (name: string): string => join(folder, name);
const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
const sandboxKey = (name: string): Account =>
  readAccounts(sandboxFileName('data/accounts.json')).find((account) => account.name === name) as Account;
const sandboxFileName = (name: string): string => new URL(sandboxFile(name)).pathname;

const control = <T>(path: string, body?: object): Promise<T> => askControl<T>(sandbox.controlUrl, path, body);

async function admit(body: object): Promise<string> {
  const common = { participant: 'own', clientId: 'c-1', clientSecret: SECRETS.client };
  return (await control<{ userId: string }>('/accounts', { ...common, ...body })).userId;
}

/** A signing service with the key of a sandbox user, behind a secret. */
async function startService(): Promise<Server> {
  north = openSigner(sandboxKey('north')) as Signer;
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { content, secret } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        content: string;
        secret: string;
      };
      if (secret !== SECRETS.service) return void response.writeHead(403).end('who are you?');
      response.end(
        JSON.stringify({ signature: { cms: (await north.sign(Buffer.from(content, 'base64'))).toString('base64') } }),
      );
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Makes a key and its user at the sandbox; returns the account that signs with it by OpenSSL. */
async function programAccount(
  name: string,
  kind: { key: string[]; engine: string[]; digest: string },
): Promise<object> {
  const files = ['-keyout', `${name}.key`, '-passout', `pass:${SECRETS.pin}`, '-out', `${name}.crt`];
  openssl('req', ...kind.engine, '-x509', ...kind.key, ...files, '-days', '10', '-subj', `/CN=${name}`);
  const userId = await admit({ name, certificatePem: readFileSync(at(`${name}.crt`), 'utf8') });
  const sign = [
    '-sign',
    '-binary',
    '-cades',
    '-nosmimecap',
    '-signer',
    `${name}.crt`,
    '-inkey',
    `${name}.key`,
    '-passin',
    'env:SIGNER_SECRET',
    '-md',
    kind.digest,
  ];
  const command = ['openssl', 'cms', ...kind.engine, ...sign, '-in', '{in}', '-outform', 'DER', '-out', '{out}'];
  return {
    name,
    client_id: 'c-1',
    client_secret: SECRETS.client,
    user_id: userId,
    signer: { kind: 'command', command, secret_file: 'pin' },
  };
}

async function writeAccounts(): Promise<void> {
  writeFileSync(at('pin'), `${SECRETS.pin}\n`);
  writeFileSync(at('password'), SECRETS.password);
  const accounts: object[] = [
    {
      name: 'abroad',
      client_id: 'c-1',
      client_secret: SECRETS.client,
      user_id: await admit({ name: 'abroad', userId: 'jane@abroad', password: SECRETS.password }),
      signer: { kind: 'password', password_file: 'password' },
    },
    {
      name: 'north',
      client_id: sandboxKey('north').clientId,
      client_secret: sandboxKey('north').clientSecret,
      user_id: sandboxKey('north').userId,
      signer: {
        kind: 'http',
        url: `http://127.0.0.1:${(service.address() as AddressInfo).port}/`,
        body: { content: '{base64}', secret: '{secret}' },
        answer_field: 'signature.cms',
        secret: SECRETS.service,
      },
    },
  ];
  if (hasOpenssl)
    accounts.push(await programAccount('program', { key: ['-newkey', 'rsa:2048'], engine: [], digest: 'sha256' }));
  if (hasGost)
    accounts.push(
      await programAccount('gost', {
        key: ['-newkey', 'gost2012_256', '-pkeyopt', 'paramset:A', '-md_gost12_256'],
        engine: ['-engine', 'gost'],
        digest: 'md_gost12_256',
      }),
    );
  writeFileSync(at('accounts.json'), JSON.stringify(accounts));
  names = (accounts as { name: string }[]).map(({ name }) => name);
}

function oneDocumentOf(accounts: string[]): SampleCommand[] {
  const whole = sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: 11,
    run: 'SIGN1',
    accounts,
    at: new Date('2026-03-02T07:00:00Z'),
    consignments: accounts.length,
  });
  return whole.filter((one) => one.after.length === 0);
}

beforeAll(async () => {
  if (!hasOpenssl)
    process.stderr.write('SKIPPED: no openssl on this machine, no external program signs in this scenario\n');
  if (!hasGost)
    process.stderr.write(
      'SKIPPED: no OpenSSL with a GOST engine on this machine (Debian: libengine-gost-openssl), no GOST ' +
        'signature goes from command to receipt\n',
    );
  folder = mkdtempSync(join(tmpdir(), 'pedigree-signers-'));
  db = await testDatabase();
  sandbox = await startSandbox({ seed: 11 });
  service = await startService();
  await writeAccounts();
  writeFileSync(at('key'), 'ab'.repeat(32));
  const env = {
    DATABASE_URL: db.url,
    PORT: '0',
    LOG_LEVEL: 'error',
    REGISTRY_URL: sandbox.url,
    PEDIGREE_ACCOUNTS: at('accounts.json'),
    PEDIGREE_KEY_FILE: at('key'),
  };
  gateway = await startGateway(gatewayConfig(env));
  worker = await startWorker(workerConfig(env));
  day = oneDocumentOf(names);
  const client = new GatewayClient(gateway.url);
  await feed(client, day);
  await waitForConclusion(client, {
    commands: day,
    signal: AbortSignal.timeout(LIMIT_MS),
    limitMs: LIMIT_MS,
    progress: () => undefined,
  });
  await caughtUp(gateway.url);
}, 2 * LIMIT_MS);

afterAll(async () => {
  await worker?.stop();
  await gateway?.stop();
  await sandbox?.stop();
  await new Promise((resolve) => service.close(resolve));
  await db?.drop();
  rmSync(folder, { recursive: true });
});

/** What the API says of an account's one document. */
async function documentOf(account: string): Promise<OutcomeRow & { requestId: string }> {
  const { commandId } = day.find((one) => one.account === account) as SampleCommand;
  for await (const row of new GatewayClient(gateway.url).list<OutcomeRow & { requestId: string }>(
    '/v1/documents?limit=100',
  ))
    if (row.commandId === commandId) return row;
  throw new Error(`no document of ${account}`);
}

/** The intent of an account's one document. */
async function intentOf(account: string): Promise<SendAttempted['data']> {
  const { commandId } = day.find((one) => one.account === account) as SampleCommand;
  const store = new PostgresEventStore({ pool: db.pool });
  const events = await store.readStream(documentStream(uuid5(commandId, await installationId(db.pool))));
  await store.close();
  return (events.find(({ type }) => type === 'SendAttempted') as unknown as SendAttempted).data;
}

describe('a document of an account', () => {
  it('is concluded however the account signs, and no rule is broken', async () => {
    const rows: OutcomeRow[] = [];
    for await (const row of new GatewayClient(gateway.url).list<OutcomeRow>('/v1/documents?limit=100')) rows.push(row);
    expect(new Set(day.map(({ account }) => account))).toEqual(new Set(names));
    expect(summarise(day, rows)).toMatchObject({ documents: names.length, unfinished: 0, unexpected: [] });
    expect(await control('/violations')).toMatchObject({ violations: [], count: 0 });
  });

  it('with a password goes without a signature, and says so in its log', async () => {
    expect(await intentOf('abroad')).toEqual({ attempt: 1, account: 'abroad' });
  });

  it('leaves signature, signer’s certificate and its chain in the evidence, and by whose clock it was signed', async () => {
    const evidence = new PostgresEvidenceStore({ pool: db.pool });
    const bytesOf = async (sha256: string | undefined): Promise<Buffer> =>
      Buffer.from((await evidence.get(sha256 ?? ''))?.bytes ?? []);
    for (const account of names.filter((name) => name !== 'abroad')) {
      const { signatureSha256, certificateSha256, chainSha256, signedAt, clock } = await intentOf(account);
      const certificate =
        account === 'north'
          ? (north.certificate() as Buffer)
          : new X509Certificate(readFileSync(at(`${account}.crt`))).raw;
      expect((await bytesOf(certificateSha256)).equals(certificate)).toBe(true);
      const signature = await bytesOf(signatureSha256);
      expect(signature.includes(certificate)).toBe(true);
      expect(new X509Certificate(await bytesOf(chainSha256)).raw.equals(certificate)).toBe(true);
      expect(clock?.source).toBe('database');
      expect(Math.abs(Date.parse(signedAt ?? '') - Date.parse(clock?.measuredAt ?? ''))).toBeLessThan(600_000);
    }
  });

  const GOST_2012_256 = Buffer.from('06082a85030701010101', 'hex');

  (hasGost ? it : it.skip)(
    'signed by a GOST R 34.10-2012 key through an external command is verified and taken by the registry',
    async () => {
      const signature = await new PostgresEvidenceStore({ pool: db.pool }).get(
        (await intentOf('gost')).signatureSha256 ?? '',
      );
      expect(Buffer.from(signature?.bytes ?? []).includes(GOST_2012_256)).toBe(true);
      const { requestId, outcome } = await documentOf('gost');
      expect(outcome).toBe('accepted');
      const { documents } = await control<{ documents: { sends: number }[] }>(
        `/truth/documents?request_id=${requestId}`,
      );
      expect(documents).toMatchObject([{ sends: 1 }]);
      expect(await control('/truth/tokens')).toMatchObject({ tokens: { gost: 1 } });
    },
  );

  it('leaves no secret in the database', async () => {
    const { rows: tables } = await db.pool.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ` +
        `('pg_catalog', 'information_schema')`,
    );
    expect(tables.length).toBeGreaterThan(10);
    let seen = 0;
    for (const { name } of tables) {
      const { rows } = await db.pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      for (const { row } of rows) {
        seen += 1;
        for (const secret of Object.values(SECRETS)) {
          expect(row.includes(secret) || row.includes(Buffer.from(secret).toString('hex'))).toBe(false);
          expect(row.includes(Buffer.from(secret).toString('base64'))).toBe(false);
        }
      }
    }
    expect(seen).toBeGreaterThan(20);
  });
});

describe('an account that cannot sign in', () => {
  const logged: string[] = [];
  const log: Log = {
    info: (fields, message) => void logged.push(JSON.stringify([fields, message])),
    warn: (fields, message) => void logged.push(JSON.stringify([fields, message])),
  };

  /** A client of its own, with one changed account; it knows no token yet. */
  async function calling(change: (account: Account) => Account): Promise<string> {
    const [abroad] = readAccounts(at('accounts.json'));
    const account = change({ ...(abroad as Account), name: `changed-${logged.length}` });
    const profile = loadProfile('interface-v1');
    const budgets = new PostgresCallBudgets({
      pool: db.pool,
      intervalsMs: () => 0,
      guardMs: 0,
      slotSlackMs: 1_000,
      maxIntervalMs: 1_000,
    });
    const client = new UndiciRegistryClient({
      baseUrl: sandbox.url,
      profile,
      accounts: [account],
      budgets,
      sessions: new PostgresSessionStore(db.pool, { key: Buffer.alloc(32, 1) }),
      clock: systemClock,
      log,
    });
    const outcome = await client.listOutgoing(account.name, {});
    await client.close();
    return JSON.stringify(outcome);
  }

  it('is told why: by the registry, by the program, by the service; and no secret is among the words', async () => {
    // Several accounts here are one user of the registry: their calls would come too soon after one another.
    await control('/limits', { off: true });
    const outside = { timeLimitMs: 5_000, concurrency: 1, secret: SECRETS.pin };
    const { userId } = sandboxKey('north');
    const asNorth = (account: Account, signer: Account['signer']): Account => ({
      ...account,
      ...sandboxKey('north'),
      name: account.name,
      userId,
      signer,
    });
    const wrongPassword = await calling((account) => ({
      ...account,
      signer: { kind: 'password', password: 'a-wrong-password-31' },
    }));
    expect(wrongPassword).toContain('the password is wrong');
    const loud = ['-e', 'console.error("no key: " + process.env.SIGNER_SECRET); process.exit(2)'];
    const program = await calling((account) =>
      asNorth(account, { kind: 'command', command: [process.execPath, ...loud], folder, environment: {}, ...outside }),
    );
    expect(program).toContain('ended with status 2: no key: [removed]');
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`;
    const refused = await calling((account) =>
      asNorth(account, {
        kind: 'http',
        url,
        headers: {},
        body: { content: '{base64}', secret: '{secret}' },
        retries: 0,
        ...outside,
      }),
    );
    expect(refused).toContain('answered 403: who are you?');
    const said = [...logged, wrongPassword, program, refused].join('\n');
    expect(logged.length).toBeGreaterThanOrEqual(3);
    for (const secret of [...Object.values(SECRETS), 'a-wrong-password-31', sandboxKey('north').clientSecret])
      expect(said).not.toContain(secret);
  });
});

describe('a certificate that ends soon', () => {
  it('is spoken of once a day and threshold', async () => {
    const accounts = readAccounts(at('accounts.json')).map((account) => ({
      account: account.name,
      signer: openSigner(account),
    }));
    for (const { signer } of accounts) await signer?.sign(Buffer.from('once, so that the certificate is known'));
    const stopping = new AbortController();
    const notices: object[] = [];
    const sessions = () =>
      accounts.map(({ account, signer }) => ({ account, certificateExpiresAt: signer?.expiresAt() }));
    const clock = { ...systemClock, wait: (): Promise<void> => Promise.resolve(stopping.abort()) };
    await watchCertificates({
      sessions,
      clock,
      signal: stopping.signal,
      warn: ({ account, thresholdDays }) => void notices.push({ account, thresholdDays }),
    });
    for (const { signer } of accounts) await signer?.close?.();
    const tenDays = names.filter((name) => name === 'program' || name === 'gost');
    expect(notices).toEqual(tenDays.map((account) => ({ account, thresholdDays: 14 })));
  });
});
