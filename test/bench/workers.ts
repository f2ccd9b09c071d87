import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { sandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway } from '../../apps/gateway/src/gateway.js';
import { readAccounts, type Account } from '#registry-client';
import { startEmbeddedPostgres } from '#postgres';
import { arrival } from './load.js';
import { namedLog } from './named-log.js';
import { thisMachine, type BenchReport } from './report.js';

const WORKERS = 2;
const ACCOUNTS = 3;
const INTERVAL_MS = 100;
const POLL_MS = 200;
const MOST_MS = 10 * 60_000;

interface CallCount {
  account: string;
  method: string;
  calls: number;
  rateLimited: number;
  firstMs: number;
  lastMs: number;
}

/**
 * Two worker processes share three accounts with the limits on: how much of the budget is used, as the sandbox counted
 * it, and whether anything was done twice.
 */
export async function workers(options: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const flags = ['--interval-ms', String(INTERVAL_MS), '--misbehave', '0'];
    const sandbox = await sandboxProcess({ dataDir: join(folder, 'sandbox'), profile: 'interface-v1', flags });
    stops.push(() => sandbox.stop());
    const env = {
      ...environment(folder, { databaseUrl: postgres.url, registryUrl: sandbox.url }),
      ...(await namedLog()),
    };
    const gateway = await startGateway(gatewayConfig(env));
    stops.push(() => gateway.stop());
    for (let n = 0; n < WORKERS; n += 1)
      stops.push(
        stopper(
          spawn(process.execPath, [fileURLToPath(builtFile('apps/worker/src/main.js'))], {
            env,
            stdio: ['ignore', 'ignore', 'inherit'],
          }),
        ),
      );
    const client = new GatewayClient(gateway.url);
    const documents = options.quick ? 400 : 2_000;
    const accountOf = await feed(client, documents);
    const learnt = await afterLearning(sandbox.controlUrl, documents);
    await concluded(client, documents);
    return await report(sandbox.controlUrl, { documents, accountOf, learnt });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

function environment(folder: string, urls: { databaseUrl: string; registryUrl: string }): NodeJS.ProcessEnv {
  const source = fileURLToPath(sandboxFile('data/accounts.json'));
  const accounts = readAccounts(source)
    .slice(0, ACCOUNTS)
    .map((account) => fileEntry(account, dirname(source)));
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify(accounts));
  writeFileSync(join(folder, 'key'), 'ab'.repeat(32));
  return {
    DATABASE_URL: urls.databaseUrl,
    REGISTRY_URL: urls.registryUrl,
    PORT: '0',
    LOG_LEVEL: 'error',
    PEDIGREE_ACCOUNTS: join(folder, 'accounts.json'),
    PEDIGREE_KEY_FILE: join(folder, 'key'),
  };
}

function fileEntry({ name, clientId, clientSecret, userId, signer }: Account, folder: string): object {
  if (signer.kind !== 'pkcs12') throw new Error(`the sandbox's account ${name} has no key file`);
  return {
    name,
    client_id: clientId,
    client_secret: clientSecret,
    user_id: userId,
    signer: { ...signer, file: resolve(folder, signer.file) },
  };
}

const stopper = (child: ChildProcess) => async (): Promise<void> => {
  if (child.exitCode !== null) throw new Error(`a worker ended by itself with ${child.exitCode}`);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
};

/** Gives all commands; returns the account of each by its request_id. */
async function feed(client: GatewayClient, documents: number): Promise<Map<string, string>> {
  const world = readWorld(sandboxFile('data/world.json'));
  const names = readAccounts(fileURLToPath(sandboxFile('data/accounts.json')))
    .slice(0, ACCOUNTS)
    .map((account) => account.name);
  const accountOf = new Map<string, string>();
  const commands = Array.from({ length: documents }, (_, n) => ({
    command_id: `workers-${n}`,
    account: names[n % ACCOUNTS] as string,
    xml: arrival(world, n, 'TWOWK').xml,
  }));
  for await (const result of client.send(commands)) {
    if ('error' in result) throw new Error(`a bench command was refused: ${result.error.detail}`);
    accountOf.set(result.request_id, names[Number(result.command_id.slice('workers-'.length)) % ACCOUNTS] as string);
  }
  return accountOf;
}

async function concluded(client: GatewayClient, documents: number): Promise<void> {
  const limitMs = performance.now() + MOST_MS;
  for (;;) {
    const counts = await client.get<{ documents: number; accepted: number; unfinished: number }>('/v1/summary');
    if (counts.accepted === documents) return;
    if (counts.documents === documents && counts.unfinished === 0)
      throw new Error(`${documents - counts.accepted} documents did not end accepted`);
    if (performance.now() > limitMs) throw new Error(`${counts.unfinished} documents did not conclude in ten minutes`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

const callsAt = async (controlUrl: string): Promise<CallCount[]> =>
  ((await (await fetch(`${controlUrl}/truth/calls`)).json()) as { calls: CallCount[] }).calls;
const sendsIn = (calls: CallCount[]): CallCount[] => calls.filter((one) => one.method === 'send');
const limitedIn = (calls: CallCount[]): number => calls.reduce((sum, one) => sum + one.rateLimited, 0);

/**
 * The calls so far, once feeding is over and a tenth of the documents are sent: by then intervals and guards are
 * learnt.
 */
async function afterLearning(controlUrl: string, documents: number): Promise<CallCount[]> {
  const limitMs = performance.now() + MOST_MS;
  for (;;) {
    const calls = await callsAt(controlUrl);
    const sends = sendsIn(calls);
    if (sends.length === ACCOUNTS && sends.every((one) => one.calls >= documents / ACCOUNTS / 10)) return calls;
    if (performance.now() > limitMs) throw new Error('a tenth of the documents was not sent in ten minutes');
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

interface Measured {
  documents: number;
  accountOf: Map<string, string>;
  learnt: CallCount[];
}

async function report(controlUrl: string, { documents, accountOf, learnt }: Measured): Promise<BenchReport> {
  const get = async <T>(path: string): Promise<T> => (await (await fetch(`${controlUrl}${path}`)).json()) as T;
  const calls = await callsAt(controlUrl);
  const truth = await get<{ documents: { request_id: string; account: string; sends: number }[] }>(
    `/truth/documents?limit=${documents}`,
  );
  const { count: violations } = await get<{ count: number }>('/violations');
  const used = (one: CallCount) => (one.calls * INTERVAL_MS) / (one.lastMs - one.firstMs);
  const usedSince = (one: CallCount) => {
    const before = sendsIn(learnt).find((other) => other.account === one.account) as CallCount;
    return ((one.calls - before.calls) * INTERVAL_MS) / (one.lastMs - before.lastMs);
  };
  const sends = sendsIn(calls);
  return {
    bench: 'workers',
    figures: {
      documents,
      budget_used: Number(Math.min(...sends.map(used)).toFixed(3)),
      budget_used_after_learning: Number(Math.min(...sends.map(usedSince)).toFixed(3)),
      rate_limited: limitedIn(calls),
      rate_limited_after_learning: limitedIn(calls) - limitedIn(learnt),
      violations,
      documents_of_another_account: truth.documents.filter((one) => accountOf.get(one.request_id) !== one.account)
        .length,
      documents_sent_twice: truth.documents.filter((one) => one.sends !== 1).length,
      calls_per_document: Number((calls.reduce((sum, one) => sum + one.calls, 0) / documents).toFixed(3)),
    },
    ceilings: { sends_per_second: (ACCOUNTS * 1_000) / INTERVAL_MS },
    ratios: {},
    machine: thisMachine(),
  };
}
