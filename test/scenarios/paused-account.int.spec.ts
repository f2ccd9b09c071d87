import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountStream, documentStream } from '#domain';
import { PostgresEventStore, type RecordedEvent } from '#event-store';
import { requestIdOf } from '#kernel';
import { installationId } from '#postgres';
import { loadProfile, openSigner, readAccounts, type Account, type SignerConfig } from '#registry-client';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { sampleDay, type SampleCommand } from '../../apps/cli/src/sample/day.js';
import { feed, waitForConclusion } from '../../apps/cli/src/sample/feed.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway, type RunningGateway } from '../../apps/gateway/src/gateway.js';
import { startSandbox, type Sandbox } from '../../apps/sandbox/src/main.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { caughtUp } from '../support/caught-up.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { askControl } from '../support/sandbox-control.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';

/**
 * An account that the registry refuses, on a registry that judges signatures and certificates for real: two workers,
 * one account whose user id is no thumbprint, so that only the registry can know that the certificate is wrong.
 */
const ACCOUNT = 'clinic';
const USER_ID = '0b7f5f0e-1111-4222-8333-444455556666';
const LIMIT_MS = 120_000;
const RULES = {
  unknownGraceMs: 1_500,
  statusAfterSendMs: 200,
  receiptAfterStatusMs: 200,
  statusPollMs: 200,
  receiptPollMs: 200,
  requestTimeoutMs: 5_000,
  guardMs: 40,
};

interface Shown {
  name: string;
  state: string;
  cause?: string;
  text?: string;
  waiting: number;
  certificate?: { subject: string; thumbprint: string; valid_to: string };
}

let folder: TemporaryFolder;
let db: TestDatabase;
let sandbox: Sandbox;
let gateway: RunningGateway;
let client: GatewayClient;
let workers: RunningWorker[] = [];
let commands: SampleCommand[];

const sandboxKey = (name: string): Account =>
  readAccounts(new URL(sandboxFile('data/accounts.json')).pathname).find((account) => account.name === name) as Account;
const at = (name: string): string => join(folder.path, name);
const pkcs12 = (name: string): Extract<SignerConfig, { kind: 'pkcs12' }> =>
  sandboxKey(name).signer as Extract<SignerConfig, { kind: 'pkcs12' }>;
const control = <T>(path: string, body?: object): Promise<T> => askControl<T>(sandbox.controlUrl, path, body);

/** The variables of programs whose account signs with the key of this sandbox user. */
function environmentWith(key: string): Record<string, string> {
  const { file, password } = pkcs12(key);
  writeFileSync(
    at(`${key}.json`),
    JSON.stringify([
      {
        name: ACCOUNT,
        client_id: 'c-1',
        client_secret: 'secret-1',
        user_id: USER_ID,
        signer: { kind: 'pkcs12', file, password },
      },
    ]),
  );
  return {
    DATABASE_URL: db.url,
    PORT: '0',
    LOG_LEVEL: 'silent',
    REGISTRY_URL: sandbox.url,
    REGISTRY_PROFILE: 'interface-v1',
    REGISTRY_PROFILE_OVERRIDES: at('overrides.json'),
    PEDIGREE_KEY_FILE: at('key'),
    PEDIGREE_ACCOUNTS: at(`${key}.json`),
    PEDIGREE_EXPECTED_PROGRAMS: 'worker',
  };
}

async function stopWorkers(): Promise<void> {
  for (const worker of workers.splice(0)) await worker.stop();
}

async function startWorkers(key: string, count: number): Promise<void> {
  await stopWorkers();
  for (let n = 0; n < count; n += 1) workers.push(await startWorker(workerConfig(environmentWith(key))));
}

const shown = async (): Promise<Shown> => ((await client.raw('/v1/accounts')) as { items: Shown[] }).items[0] as Shown;
const health = async (): Promise<{
  status: number;
  body: { status: string; degraded?: { name: string; reason: string }[] };
}> => {
  const answer = await fetch(`${gateway.url}/health/ready`);
  return { status: answer.status, body: (await answer.json()) as never };
};
const isPausedEverywhere = (): boolean => workers.every((worker) => worker.pausedAccounts().length === 1);

async function eventsOf(stream: string): Promise<RecordedEvent[]> {
  const store = new PostgresEventStore({ pool: db.pool });
  try {
    return await store.readStream(stream);
  } finally {
    await store.close();
  }
}

const typesOf = async ({ commandId }: SampleCommand): Promise<string[]> =>
  (await eventsOf(documentStream(requestIdOf(await installationId(db.pool), commandId)))).map((event) => event.type);

/** How often the registry has each of these documents, and how often it was sent one. */
async function taken(of: SampleCommand[]): Promise<{ documents: number; sends: number }[]> {
  const installation = await installationId(db.pool);
  return Promise.all(
    of.map(async ({ commandId }) => {
      const { documents } = await control<{ documents: { sends: number }[] }>(
        `/truth/documents?request_id=${requestIdOf(installation, commandId)}`,
      );
      return { documents: documents.length, sends: documents.reduce((sum, one) => sum + one.sends, 0) };
    }),
  );
}

const concluded = async (of: SampleCommand[]): Promise<string[]> => {
  const rows = await waitForConclusion(client, {
    commands: of,
    signal: AbortSignal.timeout(LIMIT_MS),
    limitMs: LIMIT_MS,
    progress: () => undefined,
  });
  const names = new Set(of.map((one) => one.commandId));
  return rows.filter((row) => names.has(row.commandId)).map((row) => String(row.outcome));
};

beforeAll(async () => {
  folder = await temporaryFolder();
  db = await testDatabase();
  const operations = Object.fromEntries(
    Object.keys(loadProfile('interface-v1').operations).map((name) => [name, { intervalMs: 50 }]),
  );
  writeFileSync(at('overrides.json'), JSON.stringify({ rules: RULES, operations }));
  writeFileSync(at('key'), 'ab'.repeat(32));
  sandbox = await startSandbox({
    profile: 'interface-v1',
    profileOverrides: at('overrides.json'),
    language: 'en',
    processingMs: 50,
    seed: 5,
  });
  const der = openSigner(sandboxKey('main'))?.certificate() as Buffer;
  const certificatePem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  await control('/accounts', {
    name: ACCOUNT,
    participant: 'own',
    clientId: 'c-1',
    clientSecret: 'secret-1',
    userId: USER_ID,
    certificatePem,
  });
  const env = environmentWith('main');
  gateway = await startGateway(gatewayConfig(env));
  client = new GatewayClient(gateway.url);
  const day = sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: 11,
    run: 'PAUSE',
    accounts: [ACCOUNT],
    at: new Date('2026-03-02T07:00:00Z'),
    consignments: 30,
  });
  commands = day.filter((one) => one.after.length === 0 && one.expected === 'accepted');
  expect(commands.length).toBeGreaterThanOrEqual(15);
}, LIMIT_MS);

afterAll(async () => {
  await stopWorkers();
  await gateway?.stop();
  await sandbox?.stop();
  await db?.drop();
  await folder?.remove();
});

/** Health and the document both name the certificate. */
async function expectCertificateBlamed({ commandId }: SampleCommand): Promise<void> {
  expect(await health()).toMatchObject({
    status: 200,
    body: {
      status: 'degraded',
      degraded: [{ name: `account ${ACCOUNT}`, reason: expect.stringContaining('certificate') }],
    },
  });
  expect(await client.raw(`/v1/documents/${requestIdOf(await installationId(db.pool), commandId)}`)).toMatchObject({
    phase: 'ready',
    holds: [{ kind: 'account', for: expect.stringMatching(/^certificate: /), waivable_by: 'operator' }],
  });
}

/** The log has one pause and one resumption, by a person and for this reason, and no secret. */
async function expectResumedBy(reason: string): Promise<void> {
  const log = (await eventsOf(accountStream(ACCOUNT))).filter((event) => event.type !== 'AccountCertificateSeen');
  expect(log.map((event) => event.type)).toEqual(['AccountPaused', 'AccountResumed']);
  expect(log[1]?.metadata).toMatchObject({ reason, actor: { kind: 'person' } });
  expect(JSON.stringify(log.map((event) => [event.data, event.metadata]))).not.toContain('secret-1');
}

describe('an account that the registry refuses', () => {
  it(
    'keeps its documents when its certificate is wrong, and sends each once when it is mended and resumed',
    async () => {
      const [first, second] = [commands.slice(0, 5), commands.slice(5, 10)];
      // The token of a good sign-in outlives the certificate: that is how a wrong one gets as far as the documents.
      await startWorkers('main', 1);
      await until(
        'the account is signed in',
        async () => (await control<{ tokens: Record<string, number> }>('/truth/tokens')).tokens[ACCOUNT] === 1,
      );
      await startWorkers('north', 2);
      await feed(client, first);
      await until('the account is paused', async () => (await shown()).state === 'paused');
      await until('both workers know', isPausedEverywhere);
      await until('all wait', async () => (await shown()).waiting === 5);
      expect(await shown()).toMatchObject({
        cause: 'certificate',
        text: expect.stringContaining('not the one registered for this user'),
      });
      await feed(client, second);
      await until('all wait', async () => (await shown()).waiting === 10);

      await expectCertificateBlamed(first[0] as SampleCommand);
      await caughtUp(gateway.url);
      expect(await client.raw('/v1/summary')).toMatchObject({ failed: 0, unfinished: 10 });
      for (const one of second) expect(await typesOf(one)).toEqual(['DocumentRegistered']);
      expect(await taken([...first, ...second])).toEqual(Array(10).fill({ documents: 0, sends: 0 }));

      await startWorkers('main', 2);
      await until('both workers know', isPausedEverywhere);
      expect(await shown()).toMatchObject({
        state: 'paused',
        waiting: 10,
        certificate: { thumbprint: sandboxKey('main').userId },
      });
      await client.change('POST', `/v1/accounts/${ACCOUNT}/resumptions`, {
        reason: 'the right certificate is in place',
      });
      expect(await concluded([...first, ...second])).toEqual(Array(10).fill('accepted'));
      expect(await taken([...first, ...second])).toEqual(Array(10).fill({ documents: 1, sends: 1 }));
      await until('health is good', async () => (await health()).body.status === 'ready');
      await expectResumedBy('the right certificate is in place');
    },
    LIMIT_MS,
  );

  it(
    'keeps its documents when its user is blocked in the middle, and sends each once when he is let in',
    async () => {
      const third = commands.slice(10, 15);
      await startWorkers('main', 2);
      await feed(client, third.slice(0, 1));
      expect(await concluded(third.slice(0, 1))).toEqual(['accepted']);
      await control('/accounts/block', { name: ACCOUNT, blocked: true });
      await feed(client, third.slice(1));
      await until('the account is paused', async () => (await shown()).state === 'paused');
      await until('all wait', async () => (await shown()).waiting === 4);
      expect(await shown()).toMatchObject({ cause: 'blocked' });
      // A person who resumes too early has the account paused again, and nothing fails.
      await client.change('POST', `/v1/accounts/${ACCOUNT}/resumptions`, { reason: 'tried too early' });
      await until(
        'it is paused again',
        async () => (await eventsOf(accountStream(ACCOUNT))).at(-1)?.type === 'AccountPaused',
      );
      await control('/accounts/block', { name: ACCOUNT, blocked: false });
      await until('both workers know', isPausedEverywhere);
      await client.change('POST', `/v1/accounts/${ACCOUNT}/resumptions`, { reason: 'the user is let in again' });
      expect(await concluded(third)).toEqual(Array.from({ length: 5 }, () => 'accepted'));
      expect(await taken(third)).toEqual(Array.from({ length: 5 }, () => ({ documents: 1, sends: 1 })));
      const { violations } = await control<{ violations: { rule: string }[] }>('/violations');
      expect(violations.map((one) => one.rule).filter((rule) => rule !== 'bad_signature')).toEqual([]);
    },
    LIMIT_MS,
  );
});
