import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../../apps/cli/src/config.js';
import { demandEmptyLog } from '../../support/event-log/empty-log.js';
import { sandboxProcess, type SandboxProcess } from '../../../apps/cli/src/stack/sandbox-process.js';
import { defined, systemClock } from '#kernel';
import type { CampaignOptions } from '../options.js';
import { quietPort } from './ports.js';
import { PostgresService } from './postgres.js';
import { Program, type Death } from './program.js';
import { TcpProxy } from './proxy.js';
import { RabbitService, rabbitProgram } from './rabbitmq.js';

/** Everything that a campaign runs on. */
export interface Ground {
  postgres: PostgresService;
  /** Undefined where no rabbitmq-server can be started. */
  rabbit: RabbitService | undefined;
  sandbox: SandboxProcess;
  /** Between the workers and the sandbox. */
  registry: TcpProxy;
  gateways: { program: Program; url: string }[];
  programs: Program[];
  /** Ends that nobody ordered. */
  deaths: Death[];
  close(): Promise<void>;
}

/**
 * Waits of the profile, shortened so that a campaign sees many documents end; what the interface demands (3 s, 5 s,
 * intervals) stays.
 */
const RULES = {
  unknownGraceMs: 12_000,
  requestTimeoutMs: 4_000,
  connectTimeoutMs: 3_000,
  signInTimeoutMs: 4_000,
  statusPollMs: 1_000,
  receiptPollMs: 1_000,
  listPollMs: 2_000,
  absentTries: 6,
  // Large documents are a subject of their own; their bytes go up in parts.
  maxDocumentBytes: 20_000,
  uploadPartBytes: 12_000,
  // Calls go through a proxy, and all processes share one machine: what they are late by is not the client's bad
  // manners.
  guardMs: 200,
};
/**
 * Sends that are held back land before the grace ends, and often after the first look-up, which comes 5 s after the
 * attempt.
 */
const LAND_LATE_MS = 9_600;
const LAND_LATE_RATE = 0.05;
/** Signed often, so that kills find the auditor at it. */
const CHECKPOINT_SECONDS = 2;
/**
 * The judge of manners and his door come before all others on a crowded machine; only root may ask for it, and
 * elsewhere it is as it is.
 */
const JUDGE_PRIORITY = -10;
const READY_LIMIT_MS = 120_000;

interface GroundOptions extends CampaignOptions {
  /** Empty, and passable for the server's user. */
  folder: string;
  /** Where programs are looked for. */
  path: string;
  /** Of the server that has the log, and nothing in it yet. Undefined: it lies in PostgreSQL. */
  eventStoreUrl?: string | undefined;
  say(text: string): void;
}

/**
 * Starts all of it, and returns when the gateways take commands. What was started is stopped again when a step fails.
 */
export async function breakGround(options: GroundOptions): Promise<Ground> {
  const stops: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    return { ...(await startAll(options, stops)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startAll(options: GroundOptions, stops: (() => Promise<void> | void)[]): Promise<Omit<Ground, 'close'>> {
  const { folder, eventStoreUrl, say } = options;
  if (eventStoreUrl !== undefined) await demandEmptyLog(eventStoreUrl);
  chmodSync(folder, 0o711);
  const files = writeFiles(folder);
  const [postgres, rabbit, sandbox] = await Promise.all([
    PostgresService.start(join(folder, 'postgres')).then((one) => (stops.push(() => one.close()), one)),
    startRabbit(options).then((one) => (stops.push(() => one?.close()), one)),
    startSandbox(options, files.overrides).then((one) => (stops.push(() => one.stop()), one)),
  ]);
  const registry = await TcpProxy.start(Number(new URL(sandbox.url).port));
  stops.push(() => registry.stop());
  for (const pid of [registry.pid, sandboxPid(folder)]) favour(pid);
  const env = environment(files, { postgres, eventStoreUrl, rabbit, registry });
  const deaths: Death[] = [];
  const died = (death: Death): void => {
    deaths.push(death);
    say(`${death.program} died of itself: ${death.how}`);
  };
  const gateways = [];
  for (let n = 1; n <= options.gateways; n += 1) {
    const port = await quietPort();
    const program = new Program({ ...entry('gateway', n, folder), env: { ...env, PORT: String(port) }, died });
    gateways.push({ program, url: `http://127.0.0.1:${port}` });
  }
  const programOf = (app: App, n: number): Program => new Program({ ...entry(app, n, folder), env, died });
  const workers = Array.from({ length: options.workers }, (_, n) => programOf('worker', n + 1));
  const others = (['auditor', 'reconciler'] as const).map((app) => programOf(app, 1));
  const programs = [...gateways.map((one) => one.program), ...workers, ...others];
  stops.push(async () => {
    for (const program of programs) program.resume();
    await Promise.all(programs.map((program) => program.stop()));
  });
  for (const program of programs) program.start();
  for (const { url } of gateways) await untilReady(url);
  return { postgres, rabbit, sandbox, registry, gateways, programs, deaths };
}

type App = 'gateway' | 'worker' | 'auditor' | 'reconciler';
const entry = (app: App, n: number, folder: string) => ({
  name: `${app}-${n}`,
  args: ['--enable-source-maps', fileURLToPath(builtFile(`apps/${app}/src/main.js`))],
  logFile: join(folder, `${app}-${n}.log`),
});

async function startRabbit({ folder, path, say }: GroundOptions): Promise<RabbitService | undefined> {
  const program = rabbitProgram(path);
  if (program === undefined) return undefined;
  try {
    return await RabbitService.start(program, join(folder, 'rabbitmq'), path);
  } catch (error) {
    say((error as Error).message);
    return undefined;
  }
}

const startSandbox = (
  { folder, seed, misbehave, processingMs }: GroundOptions,
  profileOverrides: string,
): Promise<SandboxProcess> =>
  sandboxProcess({
    dataDir: join(folder, 'registry'),
    profile: 'interface-v1',
    profileOverrides,
    flags: [
      ...[
        '--seed',
        String(seed),
        '--misbehave',
        String(misbehave),
        '--processing-ms',
        String(processingMs),
        '--processing-spread',
        'full',
      ],
      ...['--land-late-ms', String(LAND_LATE_MS), '--knob', `land_late=${misbehave === 0 ? 0 : LAND_LATE_RATE}`],
    ],
  });

const sandboxPid = (folder: string): number =>
  (JSON.parse(readFileSync(join(folder, 'registry', 'address.json'), 'utf8')) as { pid: number }).pid;

function favour(pid: number): void {
  try {
    setPriority(pid, JUDGE_PRIORITY);
  } catch {
    // Not root.
  }
}

interface Files {
  /** Of the profile, for both sides alike. */
  overrides: string;
  key: string;
  auditKey: string;
}

function writeFiles(folder: string): Files {
  const files = {
    overrides: join(folder, 'overrides.json'),
    key: join(folder, 'key'),
    auditKey: join(folder, 'audit-key.pem'),
  };
  writeFileSync(files.overrides, JSON.stringify({ rules: RULES }));
  writeFileSync(files.key, 'ab'.repeat(32), { mode: 0o600 });
  writeFileSync(files.auditKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  return files;
}

interface Services {
  postgres: PostgresService;
  eventStoreUrl: string | undefined;
  rabbit: RabbitService | undefined;
  registry: TcpProxy;
}

function environment(files: Files, services: Services): NodeJS.ProcessEnv {
  return {
    PATH: dirname(process.execPath),
    DATABASE_URL: services.postgres.url,
    REGISTRY_URL: services.registry.url,
    LOG_LEVEL: 'info',
    ...defined({ EVENTSTORE_URL: services.eventStoreUrl }),
    ...(services.rabbit === undefined ? {} : { AMQP_URL: services.rabbit.url }),
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
    // What is fed is drawn at random, and must come to rest without a person.
    PEDIGREE_SEQUENCE_GATE: 'all=warn',
    PEDIGREE_KEY_FILE: files.key,
    REGISTRY_PROFILE_OVERRIDES: files.overrides,
    AUDIT_KEY_FILE: files.auditKey,
    AUDIT_CHECKPOINT_SECONDS: String(CHECKPOINT_SECONDS),
  };
}

async function untilReady(url: string): Promise<void> {
  const endMs = systemClock.monotonicMs() + READY_LIMIT_MS;
  while (systemClock.monotonicMs() < endMs) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (answer?.ok === true) return;
    await systemClock.wait(100);
  }
  throw new Error(`the gateway at ${url} is not ready after ${READY_LIMIT_MS} ms`);
}
