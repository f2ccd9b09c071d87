import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../config.js';
import { systemClock } from '#kernel';
import { writeDurably } from '#service';

/** A sandbox in its own process, whoever started it. */
export interface SandboxProcess {
  url: string;
  controlUrl: string;
  /** True when it was left running by an earlier start. */
  reused: boolean;
  stop(): Promise<void>;
}

export interface SandboxOptions {
  /** Where its state, its log and its address are kept. */
  dataDir: string;
  profile: string;
  /** File of overrides that its clients read the profile with. */
  profileOverrides?: string;
  /** Further command line flags. */
  flags?: string[];
}

interface Address {
  pid: number;
  url: string;
  controlUrl: string;
}

/**
 * Whoever wants misbehaviour or lively counterparties says so in `flags`: the sample day comes out the same each time.
 */
const WELL_BEHAVED = ['--misbehave', '0', '--counterparties', 'off'];
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 10_000;
const POLL_MS = 50;
const HEALTH_TIMEOUT_MS = 2_000;
const LOG_LIMIT_BYTES = 1_000_000;
/** What a sandbox says that finds another one at work on its folder. */
const FOLDER_IS_TAKEN = 'another sandbox (process';

/**
 * Starts the sandbox as a process of its own, or finds the one that an earlier start left behind (a kill of our process
 * does not end it: the registry does not go away because we do). That one may be noted, may have come up before it
 * could be noted, or may still be coming up.
 */
export async function sandboxProcess(options: SandboxOptions): Promise<SandboxProcess> {
  mkdirSync(options.dataDir, { recursive: true });
  const addressFile = join(options.dataDir, 'address.json');
  const folder: Folder = { logFile: join(options.dataDir, 'sandbox.log'), stateDir: resolve(options.dataDir, 'state') };
  const left = (await served(noted(addressFile), folder)) ?? (await served(lastReadyLine(folder.logFile), folder));
  if (left !== undefined) return running(left, addressFile, true);
  const started = await spawnSandbox(options, folder);
  writeDurably(addressFile, JSON.stringify(started.address));
  return running(started.address, addressFile, !started.own);
}

interface Folder {
  logFile: string;
  stateDir: string;
}

type Ports = Omit<Address, 'pid'>;

/** The note of an earlier start; one that cannot be read is as good as none, for the sandbox itself is asked. */
function noted(addressFile: string): Ports | undefined {
  return existsSync(addressFile) ? portsIn(readFileSync(addressFile, 'utf8')) : undefined;
}

/**
 * Who answers at the control port, when it is a sandbox over this very folder: after a crash the port may be another
 * one's.
 */
async function served(ports: Ports | undefined, { stateDir }: Folder): Promise<Address | undefined> {
  if (ports === undefined) return undefined;
  try {
    const answer = await fetch(`${ports.controlUrl}/health`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) });
    const { pid, dataDir } = (await answer.json()) as { pid?: unknown; dataDir?: unknown };
    return typeof pid === 'number' && dataDir === stateDir
      ? { pid, url: ports.url, controlUrl: ports.controlUrl }
      : undefined;
  } catch {
    return undefined;
  }
}

/** `own`: it is the process that we started, and not one that was on its way up already. */
async function spawnSandbox(options: SandboxOptions, folder: Folder): Promise<{ address: Address; own: boolean }> {
  const { logFile, stateDir } = folder;
  keepShort(logFile);
  const log = openSync(logFile, 'a');
  const begin = fstatSync(log).size;
  // Its own process group, so that Ctrl-C on the terminal reaches us alone and we stop it last.
  const child = spawn(process.execPath, argumentsOf(options, stateDir), {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let ended: string | undefined;
  child.once('exit', (code, signal) => (ended = `exit ${code ?? signal}`));
  child.unref();
  for (let waitedMs = 0; waitedMs < START_LIMIT_MS; waitedMs += POLL_MS) {
    const address = await served(lastReadyLine(logFile), folder);
    if (address !== undefined) {
      const own = address.pid === child.pid;
      // Ours came second. Left alone it might take the folder later, when the first one stops.
      if (!own && ended === undefined) child.kill('SIGKILL');
      return { address, own };
    }
    // A sandbox that has the folder already will say in the same log when it is ready.
    if (ended !== undefined && !saidSince(logFile, begin).includes(FOLDER_IS_TAKEN)) break;
    await systemClock.wait(POLL_MS);
  }
  throw new Error(
    `the sandbox did not start (${ended ?? `no answer in ${START_LIMIT_MS} ms`}); its log: ` +
      `${saidSince(logFile, begin).slice(-2_000)}`,
  );
}

const argumentsOf = ({ profile, profileOverrides, flags = [] }: SandboxOptions, stateDir: string): string[] => [
  fileURLToPath(builtFile('apps/sandbox/src/main.js')),
  ...['--port', '0', '--control-port', '0', '--data', stateDir, '--profile', profile],
  ...(profileOverrides === undefined ? [] : ['--profile-overrides', resolve(profileOverrides)]),
  ...WELL_BEHAVED,
  ...flags,
];

/** The log is never emptied, since a sandbox may be writing to it; a long one begins anew. */
function keepShort(logFile: string): void {
  if (existsSync(logFile) && statSync(logFile).size > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`);
}

const saidSince = (logFile: string, begin: number): string => readFileSync(logFile).subarray(begin).toString('utf8');

function lastReadyLine(logFile: string): Ports | undefined {
  if (!existsSync(logFile)) return undefined;
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .slice(0, -1)
    .findLast((one) => one.startsWith('{') && one.includes('"controlUrl"'));
  return line === undefined ? undefined : portsIn(line);
}

function portsIn(text: string): Ports | undefined {
  try {
    const { url, controlUrl } = JSON.parse(text) as Partial<Ports>;
    return typeof url === 'string' && typeof controlUrl === 'string' ? { url, controlUrl } : undefined;
  } catch {
    return undefined;
  }
}

function running(address: Address, addressFile: string, reused: boolean): SandboxProcess {
  const stop = async (): Promise<void> => {
    signal(address.pid, 'SIGTERM');
    for (let waitedMs = 0; waitedMs < STOP_LIMIT_MS && signal(address.pid, 0); waitedMs += POLL_MS)
      await systemClock.wait(POLL_MS);
    rmSync(addressFile, { force: true });
  };
  return { url: address.url, controlUrl: address.controlUrl, reused, stop };
}

/** Whether the process was there to take the signal. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
