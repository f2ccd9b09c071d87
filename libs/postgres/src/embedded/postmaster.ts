import { execFile, spawn } from 'node:child_process';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { serverEnvironment, type Binaries } from './binaries.js';
import { SUPERUSER, type Cluster } from './cluster.js';
import { isAlive } from './start-lock.js';

const run = promisify(execFile);
const POLL_MS = 20;
/** A server that a power cut stopped replays its log before it answers. */
const READY_WAIT_MS = 300_000;
const START_ATTEMPTS = 3;
/** How long the sessions of a server that was killed may take to end, and how often that is looked at. */
const ORPHANS_LEAVE_MS = 20_000;
const ORPHANS_LOOK_MS = 100;
const STOP_WAIT_MS = 60_000;
/** A log longer than this begins anew; the old one is kept beside it. */
const LOG_LIMIT_BYTES = 10_000_000;

/** The running server of a cluster, as its own postmaster.pid says. */
export interface Postmaster {
  pid: number;
  port: number;
}

export interface StartOptions {
  binaries: Binaries;
  /** File for everything the server says. */
  logFile: string;
  /** Server settings, name to value. */
  settings: Record<string, string>;
}

/**
 * Reads postmaster.pid (process, folder, start time, port, ...); undefined when there is none or its process is gone.
 */
export async function findPostmaster(cluster: Cluster): Promise<Postmaster | undefined> {
  const path = join(cluster.directory, 'postmaster.pid');
  const [pidText, , , portText] = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const [pid, port] = [Number(pidText), Number(portText)];
  if (!isAlive(pid)) return undefined;
  if ((await isPostgres(pid)) && (await worksIn(pid, cluster.directory))) return { pid, port };
  // The server died with its machine or container, and its number now belongs to another program, perhaps a PostgreSQL
  // of another folder. PostgreSQL would take that one for a running server when it is of the same user, and refuse to
  // start for ever.
  await rm(path, { force: true });
  return undefined;
}

/** Where there is no /proc nobody can tell, and the number is believed. */
async function isPostgres(pid: number): Promise<boolean> {
  const name = await readFile(`/proc/${String(pid)}/comm`, 'utf8').catch(() => 'postgres');
  return name.trim() === 'postgres';
}

/**
 * Every process of a server works in the folder of its cluster, also when that was given another name meanwhile. Where
 * the folder of a process cannot be seen, the number is believed.
 */
async function worksIn(pid: number, directory: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all(
    [`/proc/${String(pid)}/cwd`, directory].map((path) => stat(path).catch(() => undefined)),
  );
  return theirs === undefined || ours === undefined || (theirs.dev === ours.dev && theirs.ino === ours.ino);
}

/** Whether the server answers on that port with our password and serves this very cluster. */
export async function answers(cluster: Cluster, postmaster: Postmaster): Promise<boolean> {
  const client = new pg.Client({ connectionString: urlOf(cluster, postmaster.port), connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ same: boolean }>("SELECT current_setting('data_directory') = $1 AS same", [
      cluster.directory,
    ]);
    return rows[0]?.same === true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The server listens on loopback only, under the superuser and the kept password. */
export function urlOf(cluster: Cluster, port: number): string {
  return `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${String(port)}/postgres`;
}

/**
 * Starts the server in a session of its own, so that neither Ctrl-C at our terminal nor our death stops it.
 * @throws Error with the end of the server's log when it ends before it answers.
 */
export async function startPostmaster(cluster: Cluster, options: StartOptions): Promise<Postmaster> {
  await rotateLog(options.logFile);
  const untilMs = performance.now() + ORPHANS_LEAVE_MS;
  let reason = '';
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    const ended = await spawnServer(cluster, options, await freePort());
    const found = await untilReady(cluster, ended);
    if (found !== undefined) return found;
    const said = await logEnd(options.logFile);
    reason = `(${ended() ?? 'no answer'}):\n${said}`;
    // The sessions of a server that was killed end by themselves within moments, and until then hold what the new one
    // needs: that is no attempt.
    const [, lastReason = ''] = /[\s\S]*FATAL: +([^\n]*)/.exec(said) ?? [];
    if (lastReason.includes('pre-existing shared memory block') && performance.now() < untilMs) {
      attempt -= 1;
      await delay(ORPHANS_LOOK_MS);
      continue;
    }
    // Somebody else took the port between our look and the server's; any other reason would only repeat itself.
    if (!reason.includes('could not create any TCP/IP sockets')) break;
  }
  throw new Error(`the embedded PostgreSQL did not start ${reason}`);
}

/** Returns a look at the process: undefined while it lives, else how it ended. */
async function spawnServer(cluster: Cluster, options: StartOptions, port: number): Promise<() => string | undefined> {
  const log = await open(options.logFile, 'a', 0o600);
  const settings = Object.entries({ ...options.settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const server = spawn(options.binaries.postgres, ['-D', cluster.directory, ...settings], {
    ...cluster.user,
    cwd: cluster.directory,
    env: serverEnvironment(),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  let ended: string | undefined;
  server.once('error', (error) => (ended = error.message));
  server.once('exit', (code, signal) => (ended = `exit ${String(code ?? signal)}`));
  server.unref();
  await log.close();
  return () => ended;
}

/**
 * Waits until the server of the cluster answers; undefined when `ended` says why it never will, or after five minutes.
 */
export async function untilReady(cluster: Cluster, ended: () => string | undefined): Promise<Postmaster | undefined> {
  for (let waitedMs = 0; waitedMs < READY_WAIT_MS && ended() === undefined; waitedMs += POLL_MS) {
    const text = await readFile(join(cluster.directory, 'postmaster.pid'), 'utf8').catch(() => '');
    // Line 8 is the server's own word on its state; asking it earlier only fills its log.
    if (text.split('\n')[7]?.trim() === 'ready') {
      const found = await findPostmaster(cluster);
      if (found !== undefined && (await answers(cluster, found))) return found;
    }
    await delay(POLL_MS);
  }
  return undefined;
}

/**
 * Fast shutdown: open sessions are ended, a checkpoint is written. Returns when the process is gone; nothing to do when
 * it is.
 */
export async function stopPostmaster(cluster: Cluster, binaries: Binaries): Promise<void> {
  const found = await findPostmaster(cluster);
  if (found === undefined) return;
  if (process.platform === 'win32') {
    await run(binaries.pgCtl, ['stop', '-D', cluster.directory, '-m', 'fast', '-w'], { timeout: STOP_WAIT_MS });
    return;
  }
  process.kill(found.pid, 'SIGINT');
  for (let waitedMs = 0; waitedMs < STOP_WAIT_MS; waitedMs += POLL_MS) {
    // The server removes its pid file as its last deed. An orphan whose new parent never asks for it stays as a
    // process.
    if (!isAlive(found.pid) || !(await hasPidFile(cluster))) return;
    await delay(POLL_MS);
  }
  throw new Error(
    `the embedded PostgreSQL (process ${String(found.pid)}) did not stop within ${String(STOP_WAIT_MS)} ms`,
  );
}

async function hasPidFile(cluster: Cluster): Promise<boolean> {
  return stat(join(cluster.directory, 'postmaster.pid')).then(
    () => true,
    () => false,
  );
}

async function rotateLog(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LOG_LIMIT_BYTES) await rename(logFile, `${logFile}.1`);
}

async function logEnd(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-10).join('\n');
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1');
  return address.port;
}
