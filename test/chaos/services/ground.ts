import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../../apps/cli/src/config.js';
import { sandboxProcess, type SandboxProcess } from '../../../apps/cli/src/stack/sandbox-process.js';
import { systemClock } from '#kernel';
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

/** Waits of the profile, shortened so that a campaign sees many documents end; what the interface demands (3 s, 5 s, intervals) stays. */
const RULES = {
  unknownGraceMs: 6_000,
  requestTimeoutMs: 4_000,
  connectTimeoutMs: 3_000,
  signInTimeoutMs: 4_000,
  statusPollMs: 1_000,
  receiptPollMs: 1_000,
  listPollMs: 2_000,
  // Calls go through a proxy, and all processes share one machine: what they are late by is not the client's bad manners.
  guardMs: 100,
};
const PROCESSING_MS = 500;
/** The judge of manners and his door come before all others on a crowded machine; only root may ask for it, and elsewhere it is as it is. */
const JUDGE_PRIORITY = -10;
const READY_LIMIT_MS = 120_000;

interface GroundOptions extends CampaignOptions {
  /** Empty, and passable for the server's user. */
  folder: string;
  /** Where programs are looked for. */
  path: string;
  say(text: string): void;
}

/** Starts all of it, and returns when the gateways take commands. What was started is stopped again when a step fails. */
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
  const { folder, say } = options;
  chmodSync(folder, 0o711);
  const [postgres, rabbit, sandbox] = await Promise.all([
    PostgresService.start(join(folder, 'postgres')).then((one) => (stops.push(() => one.close()), one)),
    startRabbit(options).then((one) => (stops.push(() => one?.close()), one)),
    startSandbox(options).then((one) => (stops.push(() => one.stop()), one)),
  ]);
  const registry = await TcpProxy.start(Number(new URL(sandbox.url).port));
  stops.push(() => registry.stop());
  for (const pid of [registry.pid, sandboxPid(folder)]) favour(pid);
  const env = environment(folder, { postgres, rabbit, registry });
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
  const workers = Array.from({ length: options.workers }, (_, n) => new Program({ ...entry('worker', n + 1, folder), env, died }));
  const programs = [...gateways.map((one) => one.program), ...workers];
  stops.push(async () => {
    for (const program of programs) program.resume();
    await Promise.all(programs.map((program) => program.stop()));
  });
  for (const program of programs) program.start();
  for (const { url } of gateways) await untilReady(url);
  return { postgres, rabbit, sandbox, registry, gateways, programs, deaths };
}

const entry = (app: 'gateway' | 'worker', n: number, folder: string) => ({
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

const startSandbox = ({ folder, seed, misbehave }: GroundOptions): Promise<SandboxProcess> =>
  sandboxProcess({
    dataDir: join(folder, 'registry'),
    profile: 'interface-v1',
    flags: ['--seed', String(seed), '--misbehave', String(misbehave), '--processing-ms', String(PROCESSING_MS)],
  });

const sandboxPid = (folder: string): number => (JSON.parse(readFileSync(join(folder, 'registry', 'address.json'), 'utf8')) as { pid: number }).pid;

function favour(pid: number): void {
  try {
    setPriority(pid, JUDGE_PRIORITY);
  } catch {
    // Not root.
  }
}

function environment(folder: string, services: { postgres: PostgresService; rabbit: RabbitService | undefined; registry: TcpProxy }): NodeJS.ProcessEnv {
  mkdirSync(folder, { recursive: true });
  const [key, overrides] = [join(folder, 'key'), join(folder, 'overrides.json')];
  writeFileSync(key, 'ab'.repeat(32), { mode: 0o600 });
  writeFileSync(overrides, JSON.stringify({ rules: RULES }));
  return {
    ...{ PATH: dirname(process.execPath), DATABASE_URL: services.postgres.url, REGISTRY_URL: services.registry.url, LOG_LEVEL: 'info' },
    ...(services.rabbit === undefined ? {} : { AMQP_URL: services.rabbit.url }),
    ...{ PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')), PEDIGREE_KEY_FILE: key, REGISTRY_PROFILE_OVERRIDES: overrides },
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
