import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../config.js';
import { systemClock } from '#kernel';

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
  /** Further command line flags. */
  flags?: string[];
}

interface Address {
  pid: number;
  url: string;
  controlUrl: string;
}

/** Whoever wants misbehaviour or lively counterparties says so in `flags`: the sample day comes out the same each time. */
const WELL_BEHAVED = ['--misbehave', '0', '--counterparties', 'off'];
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;
const POLL_MS = 50;

/**
 * Starts the sandbox as a process of its own, or finds the one that an earlier start left behind (a kill of our process does not end it:
 * the registry does not go away because we do).
 */
export async function sandboxProcess(options: SandboxOptions): Promise<SandboxProcess> {
  mkdirSync(options.dataDir, { recursive: true });
  const addressFile = join(options.dataDir, 'address.json');
  const left = existsSync(addressFile) ? (JSON.parse(readFileSync(addressFile, 'utf8')) as Address) : undefined;
  if (left !== undefined && (await answers(left.controlUrl))) return running(left, addressFile, true);
  const address = await spawnSandbox(options);
  writeFileSync(addressFile, JSON.stringify(address));
  return running(address, addressFile, false);
}

async function spawnSandbox(options: SandboxOptions): Promise<Address> {
  const logFile = join(options.dataDir, 'sandbox.log');
  rmSync(logFile, { force: true });
  const log = openSync(logFile, 'a');
  const program = fileURLToPath(builtFile('apps/sandbox/src/main.js'));
  const args = [program, '--port', '0', '--control-port', '0', '--data', join(options.dataDir, 'state'), '--profile', options.profile, ...WELL_BEHAVED, ...(options.flags ?? [])];
  // Its own process group, so that Ctrl-C on the terminal reaches us alone and we stop it last.
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  let ended: string | undefined;
  child.once('exit', (code, signal) => (ended = `exit ${code ?? signal}`));
  child.unref();
  for (let waitedMs = 0; waitedMs < START_LIMIT_MS; waitedMs += POLL_MS) {
    const ready = readyLine(logFile);
    if (ready !== undefined && child.pid !== undefined) return { pid: child.pid, ...ready };
    if (ended !== undefined) break;
    await systemClock.wait(POLL_MS);
  }
  throw new Error(`the sandbox did not start (${ended ?? `no answer in ${START_LIMIT_MS} ms`}); its log: ${readFileSync(logFile, 'utf8').slice(-2_000)}`);
}

function readyLine(logFile: string): { url: string; controlUrl: string } | undefined {
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .slice(0, -1)
    .find((one) => one.startsWith('{') && one.includes('"controlUrl"'));
  return line === undefined ? undefined : (JSON.parse(line) as { url: string; controlUrl: string });
}

async function answers(controlUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${controlUrl}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

function running(address: Address, addressFile: string, reused: boolean): SandboxProcess {
  const stop = async (): Promise<void> => {
    signal(address.pid, 'SIGTERM');
    for (let waitedMs = 0; waitedMs < STOP_LIMIT_MS && signal(address.pid, 0); waitedMs += POLL_MS) await systemClock.wait(POLL_MS);
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
