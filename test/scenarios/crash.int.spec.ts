// Left to the soak: programs are killed again and again. `npm test` has the crash points of the worker.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { seededRandom } from '../../apps/cli/src/sample/random.js';
import { sandboxProcess, type SandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { systemClock } from '#kernel';
import { openPool, startEmbeddedPostgres } from '#postgres';
import { askControl } from '../support/sandbox-control.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { sized } from '../support/sized.js';
import { buildPrograms, repositoryFile } from './built-programs.js';
import { patient } from '../support/until.js';

/**
 * Repeat a run with CRASH_SEED: the moments of the kills and the day follow from it (what the machine does meanwhile
 * does not).
 */
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_121);
const CONSIGNMENTS = sized({ test: 6, soak: 20 });
const DOCUMENTS = 4 * CONSIGNMENTS;
const KILLS = sized({ test: 2, soak: 3 });
/**
 * The last kill comes up to so long after a start has begun to feed: while documents are taken, sent, asked about and
 * answered.
 */
const LATEST_KILL_MS = 7_000;
/** The kills before it come in the middle of sending: up to so long after the registry has got another document. */
const BURST_MS = 500;
const LONGEST_WAIT_FOR_BURST_MS = 15_000;
const LIMIT_MS = 480_000;

interface Up {
  child: ChildProcess;
  stdout: string;
  stderr: string;
  startedMs: number;
}

interface TruthDocument {
  request_id: string;
  sends: number;
  status: string;
}

let folder: TemporaryFolder;
let sandbox: SandboxProcess;
let last: Up;
let lastStatus: number | null;
const random = seededRandom(SEED);
const dataDir = (): string => join(folder.path, 'data');

/** `pedigree up --once` in a process group of its own, as a terminal or a service would start it. */
function start(): Up {
  const child = spawn(
    process.execPath,
    [repositoryFile('apps/cli/bin/pedigree.mjs'), 'up', '--once', '--registry-url', sandbox.url],
    {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DATA_DIR: dataDir(),
        PORT: '0',
        REGISTRY_CONTROL_URL: sandbox.controlUrl,
        PEDIGREE_SAMPLE_SEED: String(SEED),
        PEDIGREE_SAMPLE_CONSIGNMENTS: String(CONSIGNMENTS),
      },
    },
  );
  const up: Up = { child, stdout: '', stderr: '', startedMs: systemClock.monotonicMs() };
  child.stdout?.on('data', (chunk: Buffer) => (up.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (up.stderr += chunk.toString()));
  return up;
}

async function untilSaid(up: Up, text: string): Promise<void> {
  const endMs = systemClock.monotonicMs() + patient(LIMIT_MS);
  while (!up.stderr.includes(text)) {
    if (up.child.exitCode !== null || systemClock.monotonicMs() > endMs)
      throw new Error(`pedigree did not say "${text}":\n${up.stderr}\n${up.stdout}`);
    await systemClock.wait(20);
  }
}

async function postmasterPid(): Promise<number> {
  const { directory } = JSON.parse(await readFile(join(dataDir(), 'postgres/cluster.json'), 'utf8')) as {
    directory: string;
  };
  const cluster = isAbsolute(directory) ? directory : join(dataDir(), 'postgres', directory);
  return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** The server's own children, which have sessions of their own; where there is no /proc they find out by themselves. */
async function childrenOf(pid: number): Promise<number[]> {
  const children: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    // The fourth field is the parent; the name before it, in brackets, may hold blanks.
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid) children.push(Number(name));
  }
  return children;
}

/** Everything of Pedigree at once, its PostgreSQL with all its processes too; the registry lives on. */
async function killEverything(up: Up): Promise<void> {
  if (up.child.exitCode !== null)
    throw new Error(`pedigree ended by itself with ${up.child.exitCode}:\n${up.stderr}\n${up.stdout}`);
  const server = await postmasterPid();
  const victims = [server, ...(await childrenOf(server))];
  const ended = once(up.child, 'exit');
  process.kill(-(up.child.pid as number), 'SIGKILL');
  for (const pid of victims) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // A process of the server may have ended by itself a moment ago.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  expect((await ended)[1]).toBe('SIGKILL');
}

const truth = <T>(path: string): Promise<T> => askControl<T>(sandbox.controlUrl, path);

const atRegistry = async (): Promise<number> => (await truth<{ total: number }>('/truth/documents?limit=1')).total;

/** Until the registry gets another document, or for as long as that may take; when all are there none will come. */
async function untilSending(): Promise<void> {
  const before = await atRegistry();
  const endMs = systemClock.monotonicMs() + LONGEST_WAIT_FOR_BURST_MS;
  while ((await atRegistry()) === before && systemClock.monotonicMs() < endMs) await systemClock.wait(10);
}

beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  // The server's user must be able to pass, where it is not ours.
  await chmod(folder.path, 0o711);
  sandbox = await sandboxProcess({
    dataDir: join(folder.path, 'registry'),
    profile: 'interface-v1',
    flags: ['--seed', String(SEED)],
  });
  const notes: string[] = [`CRASH_SEED=${SEED}`];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const up = start();
    await untilSaid(up, 'feeding');
    const inBurst = kill < KILLS;
    if (inBurst) await untilSending();
    const killAfterMs = random.below(inBurst ? BURST_MS : LATEST_KILL_MS);
    await systemClock.wait(killAfterMs);
    await killEverything(up);
    notes.push(
      `kill ${kill} ${killAfterMs} ms after ${inBurst ? 'a send' : 'feeding'}: the registry has ` +
        `${await atRegistry()} documents`,
    );
  }
  last = start();
  [lastStatus] = (await once(last.child, 'close')) as [number | null];
  notes.push(`the last start took ${Math.round(systemClock.monotonicMs() - last.startedMs)} ms`);
  notes.push(`violations: ${JSON.stringify(await truth('/violations'))}`);
  process.stdout.write(`${notes.join('\n')}\n`);
}, LIMIT_MS);

afterAll(async () => {
  await sandbox?.stop();
  await folder?.remove();
});

describe(`killed ${KILLS} times in mid-batch, its database too (seed ${SEED}; repeat with CRASH_SEED)`, () => {
  it('goes on from where it was, and ends well', () => {
    // Said first, so that a failure tells its cause before it tells how far the run had come.
    const complaints = last.stderr
      .split('\n')
      .filter((line) => !/^(concluded|starting|feeding|stopp)/.test(line) && line !== '');
    expect({
      status: lastStatus,
      complaints: lastStatus === 0 ? [] : complaints,
      summary: last.stdout.trim().split('\n').at(-1),
    }).toMatchObject({ status: 0, complaints: [] });
    const summary = JSON.parse(last.stdout.trim().split('\n').at(-1) as string) as object;
    expect(summary).toMatchObject({ documents: DOCUMENTS, unfinished: 0, violations: 0 });
  });

  it('sent each document once, and nothing else', async () => {
    const { documents, total } = await truth<{ documents: TruthDocument[]; total: number }>(
      '/truth/documents?limit=1000',
    );
    expect(documents.filter((one) => one.sends !== 1)).toEqual([]);
    expect(total).toBe(DOCUMENTS);
    const server = await startEmbeddedPostgres({ dataDir: join(dataDir(), 'postgres') });
    const pool = openPool({ connectionString: server.url, maxConnections: 1 });
    try {
      const { rows } = await pool.query<{ request_id: string }>('SELECT request_id FROM command');
      expect(documents.map((one) => one.request_id).sort()).toEqual(rows.map((row) => row.request_id).sort());
      const { rows: doubts } = await pool.query<{ type: string; n: bigint }>(
        `SELECT type, count(*) AS n FROM event WHERE type IN ('SendUnconfirmed', 'SendAbsenceProven', ` +
          `'DuplicateDetected') GROUP BY type`,
      );
      process.stdout.write(`doubts: ${doubts.map((row) => `${row.type} ${row.n}`).join(', ') || 'none'}\n`);
      expect(doubts.filter((row) => row.type === 'DuplicateDetected')).toEqual([]);
    } finally {
      await pool.end();
      await server.stop();
    }
  });

  it('broke no rule of the registry', async () => {
    expect(await truth('/violations')).toMatchObject({ violations: [], count: 0 });
  });
});
