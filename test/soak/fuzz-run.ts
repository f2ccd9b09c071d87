import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#kernel';
import { quietPort } from '../chaos/services/ports.js';
import { fuzz, FURTHER_ROUTES, type Fuzzed } from './fuzz.js';
import { routesOf, type OpenApi } from './nonsense.js';

const PROBE = new URL('./memory-probe.mjs', import.meta.url);
const START_LIMIT_MS = 120_000;
const POLL_MS = 200;
/** The first part of the time warms up what is then measured. */
const WARM_UP_PART = 0.25;
/** What may be there afterwards beyond what was there after the warm-up. */
const MOST_HEAP_GROWTH_MIB = 48;
const MOST_RSS_GROWTH_MIB = 256;

const SGTIN = '04600000000015FUZZX00000001';
const XML =
  '<documents version="1.38"><accept action_id="701"><subject_id>00000000100101</subject_id>' +
  '<counterparty_id>00000000200101</counterparty_id><operation_date>2026-03-02T10:00:00+03:00</operation_date>' +
  `<order_details><sgtin>${SGTIN}</sgtin></order_details></accept></documents>`;

interface Memory {
  rssMiB: number;
  heapMiB: number;
}

export interface FuzzReport {
  seed: number;
  minutes: number;
  requests: number;
  routes: number;
  statuses: Record<string, number>;
  memory: { warm: Memory; end: Memory };
  /** What must not be; empty when all is well. */
  faults: string[];
}

/**
 * Everything on embedded parts in a process of its own, under nonsense at every route of its description for so long.
 */
export async function fuzzRun({
  root,
  folder,
  minutes,
  seed,
}: {
  root: string;
  folder: string;
  minutes: number;
  seed: number;
}): Promise<FuzzReport> {
  const port = await quietPort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...process.env,
    DATA_DIR: join(folder, 'fuzz'),
    PORT: String(port),
    LOG_LEVEL: 'error',
    NODE_OPTIONS: '',
  };
  const args = ['--import', fileURLToPath(PROBE), join(root, 'apps/cli/bin/pedigree.mjs'), 'up', '--no-sample'];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  let log = '';
  child.stderr?.on('data', (text: Buffer) => (log += text.toString()));
  try {
    await untilReady(child, url, () => log);
    return await fuzzed({ child, url, minutes, seed, log: () => log });
  } finally {
    if (isUp(child)) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
}

const isUp = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;
const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    (answer) => answer.ok,
    () => false,
  );

async function untilReady(child: ChildProcess, url: string, log: () => string): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_LIMIT_MS && isUp(child); waitedMs += POLL_MS) {
    if (await isReady(url)) return;
    await systemClock.wait(POLL_MS);
  }
  throw new Error(`it did not become ready: ${log().slice(-2_000)}`);
}

async function memoryOf(child: ChildProcess): Promise<Memory> {
  child.send('how much');
  const [memory] = (await once(child, 'message')) as [Memory];
  return memory;
}

/** What exists in it, and so gets past the front door; a first command is given for it. */
async function knownAt(url: string): Promise<string[]> {
  const given = await fetch(`${url}/v1/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ command_id: 'one', xml: XML }),
  });
  const { request_id: requestId } = (await given.json()) as { request_id: string };
  return [
    'one',
    'new',
    requestId,
    SGTIN,
    XML,
    XML.replace(SGTIN, '0460'),
    'main',
    'a good reason',
    '2026-01-15T09:00:00Z',
    'a'.repeat(64),
    '0',
    '1',
    '100',
  ];
}

interface Fuzzing {
  child: ChildProcess;
  url: string;
  minutes: number;
  seed: number;
  log: () => string;
}

async function fuzzed({ child, url, minutes, seed, log }: Fuzzing): Promise<FuzzReport> {
  const openApi = (await (await fetch(`${url}/v1/openapi.json`)).json()) as OpenApi;
  const routes = [...routesOf(openApi), ...FURTHER_ROUTES];
  const material = { routes, known: await knownAt(url), schemas: openApi.components.schemas };
  const forMinutes = (part: number, of: number): Promise<Fuzzed> => {
    const endMs = systemClock.monotonicMs() + part * minutes * 60_000;
    const goesOn = (): boolean => systemClock.monotonicMs() < endMs && isUp(child);
    return fuzz(url, material, { seed: seed + of, goesOn });
  };
  const run = { seed, minutes, routes: routes.length };
  const first = await forMinutes(WARM_UP_PART, 0);
  if (!isUp(child)) return { ...run, ...first, memory: { warm: NONE, end: NONE }, faults: ended(child, log()) };
  const warm = await memoryOf(child);
  const second = await forMinutes(1 - WARM_UP_PART, 1);
  const end = isUp(child) ? await memoryOf(child) : NONE;
  const statuses = { ...first.statuses };
  for (const [status, count] of Object.entries(second.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  const faults = [
    ...first.wrong,
    ...second.wrong,
    ...ended(child, log()),
    ...growth(warm, end),
    ...errorsIn(log()),
    ...shallow(statuses),
    ...((await isReady(url)) ? [] : ['it is not ready afterwards']),
  ];
  return { ...run, requests: first.requests + second.requests, statuses, memory: { warm, end }, faults };
}

const NONE: Memory = { rssMiB: 0, heapMiB: 0 };
const ended = (child: ChildProcess, log: string): string[] =>
  isUp(child) ? [] : [`it ended (${child.exitCode ?? child.signalCode}): ${log.slice(-2_000)}`];

function growth(warm: Memory, end: Memory): string[] {
  const heap = end.heapMiB - warm.heapMiB;
  const rss = end.rssMiB - warm.rssMiB;
  return [
    ...(heap > MOST_HEAP_GROWTH_MIB ? [`the heap grew by ${heap} MiB; at most ${MOST_HEAP_GROWTH_MIB}`] : []),
    ...(rss > MOST_RSS_GROWTH_MIB ? [`the process grew by ${rss} MiB; at most ${MOST_RSS_GROWTH_MIB}`] : []),
  ];
}

/** Lines of the log at `error` or above. */
const errorsIn = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => /^\{"level":(50|60|"error"|"fatal")/.test(line))
    .slice(0, 5)
    .map((line) => `the log: ${line.slice(0, 600)}`);

/** The run is worth something only when many requests got past the front door. */
const shallow = (statuses: Record<string, number>): string[] =>
  ['200', '400', '404']
    .filter((status) => (statuses[status] ?? 0) < 20)
    .map((status) => `hardly any request was answered ${status}`);
