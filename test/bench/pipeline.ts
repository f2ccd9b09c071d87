import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliConfig, sandboxFile, type CliConfig } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { readWorld, type World } from '../../apps/cli/src/sample/world.js';
import { startStack, type Stack } from '../../apps/cli/src/stack/stack.js';
import { openEventStore, type EventStore } from '#event-store';
import { loadProfile, Pkcs12Signer, readAccounts, readProfile } from '#registry-client';
import { eventsOf } from '../support/event-log/events-of.js';
import { rawAppendsPerSecond, rawSendsPerSecond } from './ceilings.js';
import { arrival, type Arrival } from './load.js';
import { thisMachine, type BenchReport } from './report.js';

/** The measured window leaves out this much at each end. */
const MARGIN_MS = 10_000;
/** Most that one run may feed, whatever the machine. */
const MAX_DOCUMENTS = 200_000;
const POLL_MS = 100;

interface Phase {
  documents: number;
  perSecond: number;
  calls: number;
  budgetUsed: number;
  sendsPerSecond: number;
  rateLimited: number;
  violations: number;
  ownCpuMsPerDocument: number;
}

/**
 * Documents per second from command to concluded outcome, limits off; and the use of the call budget, limits on. Where
 * EVENTSTORE_URL names a server the first has its log there. The second is about calls, is a database of its own and
 * would need a server of its own: its log lies in PostgreSQL.
 */
export async function pipeline(options: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  try {
    const world = readWorld(sandboxFile('data/world.json'));
    const ceilings: Record<string, number> = {};
    const off = await withStack(
      { folder, name: 'off', flags: ['--limits', 'off'], intervalMs: 0, eventStoreUrl: process.env['EVENTSTORE_URL'] },
      async (stack, config) => {
        Object.assign(ceilings, await ceilingsOf(stack, config, { world, seconds: options.quick ? 1.5 : 5 }));
        return runPhase({
          stack,
          config,
          world,
          feedMs: options.quick ? 13_000 : 50_000,
          marginMs: MARGIN_MS,
          maxAhead: 600,
          until: 'concluded',
        });
      },
    );
    const on = await withStack(
      { folder, name: 'on', flags: ['--interval-ms', '100'], intervalMs: 100 },
      (stack, config) =>
        runPhase({
          stack,
          config,
          world,
          feedMs: options.quick ? 8_000 : 40_000,
          marginMs: 0,
          maxAhead: 40,
          until: options.quick ? 'sent' : 'concluded',
        }),
    );
    return reportOf({ off, on, ceilings, msPerSignature: await signMs() });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ceilingsOf(
  stack: Stack,
  config: CliConfig,
  { world, seconds }: { world: World; seconds: number },
): Promise<Record<string, number>> {
  const { registryUrl } = stack;
  const { accountsFile } = config;
  return {
    raw_sends_per_second: await rawSendsPerSecond({ registryUrl, accountsFile, world, seconds }),
    raw_appends_per_second: await withLog(stack, config, (log) => rawAppendsPerSecond(log, seconds)),
  };
}

function reportOf(measured: {
  off: Phase;
  on: Phase;
  ceilings: Record<string, number>;
  msPerSignature: number;
}): BenchReport {
  const { off, on, ceilings, msPerSignature } = measured;
  const round = (value: number, digits = 3) => Number(value.toFixed(digits));
  return {
    bench: 'pipeline',
    figures: {
      documents_per_second: round(off.perSecond, 1),
      calls_per_document: round(off.calls / off.documents),
      budget_used: round(on.budgetUsed),
      rate_limited: on.rateLimited,
      violations: off.violations + on.violations,
      documents_concluded: off.documents,
      sends_per_second_with_limits: round(on.sendsPerSecond, 1),
      own_cpu_ms_per_document: round(off.ownCpuMsPerDocument, 2),
      signing_ms_per_document: round(msPerSignature, 3),
    },
    ceilings: Object.fromEntries(Object.entries(ceilings).map(([name, value]) => [name, round(value, 1)])),
    ratios: {
      documents_to_raw_sends: round(off.perSecond / (ceilings['raw_sends_per_second'] as number)),
      documents_to_raw_appends: round(off.perSecond / (ceilings['raw_appends_per_second'] as number)),
      signing_share_of_own_cpu: round(msPerSignature / off.ownCpuMsPerDocument),
    },
    machine: thisMachine(),
  };
}

interface BenchStack {
  folder: string;
  name: string;
  flags: string[];
  intervalMs: number;
  /** Of the server with the log; absent: it lies in PostgreSQL. */
  eventStoreUrl?: string | undefined;
}

/** Everything on embedded parts in a folder of its own, with every interval of the profile set to one value. */
export async function withStack<T>(
  options: BenchStack,
  work: (stack: Stack, config: CliConfig) => Promise<T>,
): Promise<T> {
  const overrides = join(options.folder, `${options.name}.json`);
  const operations = Object.fromEntries(
    Object.keys(loadProfile('interface-v1').operations).map((name) => [name, { intervalMs: options.intervalMs }]),
  );
  writeFileSync(overrides, JSON.stringify({ operations }));
  const { PATH, TMPDIR, DATABASE_URL } = process.env;
  const env = {
    PATH,
    TMPDIR,
    DATABASE_URL,
    EVENTSTORE_URL: options.eventStoreUrl,
    DATA_DIR: join(options.folder, options.name),
    PORT: '0',
    REGISTRY_PROFILE_OVERRIDES: overrides,
    LOG_LEVEL: 'error',
  };
  const config = cliConfig(env);
  const stack = await startStack(config, { say: () => undefined, sandboxFlags: options.flags });
  try {
    return await work(stack, config);
  } finally {
    await stack.stop();
  }
}

/** Opens the log of a stack, wherever it lies, beside the programs. */
export async function withLog<T>(
  { pool }: Stack,
  { eventStoreUrl }: CliConfig,
  work: (log: EventStore) => Promise<T>,
): Promise<T> {
  const log = await openEventStore({ pool, eventStoreUrl });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

interface PhaseOptions {
  stack: Stack;
  config: CliConfig;
  world: World;
  feedMs: number;
  marginMs: number;
  /**
   * Most documents that are fed and not yet sent: enough to keep every lane busy, few enough that feeding does not run
   * far ahead.
   */
  maxAhead: number;
  /**
   * What ends the phase. The use of the budget is known when all are sent; a quick run does not wait for their
   * receipts.
   */
  until: 'sent' | 'concluded';
}

async function runPhase(options: PhaseOptions): Promise<Phase> {
  const { stack, config, feedMs } = options;
  const gateway = new GatewayClient(stack.gateway.url);
  const cpuBefore = process.cpuUsage();
  const startedAt = new Date();
  const fed = await feedFor(options, gateway, feedMs);
  await (options.until === 'sent' ? allSent(stack, fed) : concluded(gateway, fed));
  const endedAt = new Date();
  const cpu = process.cpuUsage(cpuBefore);
  return {
    documents: fed,
    perSecond: await withLog(stack, config, (log) => concludedPerSecond(log, options.marginMs, { startedAt, endedAt })),
    ...(await callsAt(stack, config)),
    ownCpuMsPerDocument: (cpu.user + cpu.system) / 1_000 / fed,
  };
}

/** Feeds through the HTTP API for so long, never far ahead of the sends. Returns how many were fed. */
async function feedFor(options: PhaseOptions, gateway: GatewayClient, feedMs: number): Promise<number> {
  const { stack, config, world } = options;
  const accounts = readAccounts(config.accountsFile).map((account) => account.name);
  const endMs = performance.now() + feedMs;
  let fed = 0;
  const commands = async function* () {
    while (performance.now() < endMs && fed < MAX_DOCUMENTS) {
      if (fed - sendsOf(stack) >= options.maxAhead) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS / 10));
        continue;
      }
      yield commandOf(arrival(world, fed, 'BENCH'), accounts[fed % accounts.length] as string);
      fed += 1;
    }
  };
  for await (const result of gateway.send(commands())) {
    if ('error' in result) throw new Error(`a bench command was refused: ${result.error.detail}`);
  }
  return fed;
}

const sendsOf = (stack: Stack): number =>
  stack.worker.callFigures().reduce((sum, one) => sum + (one.method === 'send' ? one.calls : 0), 0);

async function allSent(stack: Stack, documents: number): Promise<void> {
  const limitMs = performance.now() + 60_000;
  while (sendsOf(stack) < documents) {
    if (performance.now() > limitMs)
      throw new Error(`${documents - sendsOf(stack)} documents were not sent in a minute`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export const commandOf = (one: Arrival, account: string): object => ({
  command_id: `bench-${one.number}`,
  type: 'send_document',
  account,
  xml: one.xml,
});

/** Resolves when so many documents are concluded, all accepted. */
export async function concluded(gateway: GatewayClient, documents: number): Promise<void> {
  const limitMs = performance.now() + 10 * 60_000;
  while (performance.now() < limitMs) {
    const counts = await gateway.get<{ documents: number; unfinished: number; accepted: number }>('/v1/summary');
    if (counts.documents >= documents && counts.unfinished === 0) {
      if (counts.accepted !== counts.documents)
        throw new Error(`${counts.documents - counts.accepted} documents did not end accepted`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('the documents did not conclude in ten minutes');
}

/** Counted in the log itself: conclusions recorded within the window, by its length. */
async function concludedPerSecond(
  log: EventStore,
  marginMs: number,
  { startedAt, endedAt }: { startedAt: Date; endedAt: Date },
): Promise<number> {
  const from = new Date(startedAt.getTime() + marginMs);
  const to = new Date(endedAt.getTime() - marginMs);
  let concluded = 0;
  for await (const { recordedAt } of eventsOf(log, { filter: { types: ['DocumentConcluded'] } }))
    if (recordedAt >= from && recordedAt < to) concluded += 1;
  return concluded / ((to.getTime() - from.getTime()) / 1_000);
}

async function callsAt(
  stack: Stack,
  config: CliConfig,
): Promise<Pick<Phase, 'calls' | 'budgetUsed' | 'sendsPerSecond' | 'rateLimited' | 'violations'>> {
  const figures = stack.worker.callFigures();
  const sends = figures.filter((one) => one.method === 'send');
  const [firstMs, lastMs] = [
    Math.min(...sends.map((one) => one.firstCallMonotonicMs)),
    Math.max(...sends.map((one) => one.lastCallMonotonicMs)),
  ];
  const busiest = figures.reduce((most, one) => (one.calls > most.calls ? one : most));
  const spanMs = busiest.lastCallMonotonicMs - busiest.firstCallMonotonicMs;
  const intervalMs = readProfile('interface-v1', config.registryProfileOverrides).operations.send.intervalMs;
  const violations = (await (await fetch(`${stack.controlUrl}/violations`)).json()) as { count: number };
  return {
    calls: figures.reduce((sum, one) => sum + one.calls, 0),
    sendsPerSecond: (sendsOf(stack) * 1_000) / (lastMs - firstMs),
    budgetUsed: (busiest.calls * intervalMs) / spanMs,
    rateLimited: figures.reduce((sum, one) => sum + one.rateLimited, 0),
    violations: violations.count,
  };
}

/** What one signature costs, measured here and now. */
async function signMs(): Promise<number> {
  const [account] = readAccounts(cliConfig({}).accountsFile);
  if (account === undefined) throw new Error('no account');
  const signer = Pkcs12Signer.open(account);
  const bytes = Buffer.alloc(12_000, 'x');
  const rounds = 300;
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) await signer.sign(bytes);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / rounds;
}
