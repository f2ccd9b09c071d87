// Left to the soak: programs with a clock of their own. `npm test` has clock-skew.int.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { builtFile } from '../../apps/cli/src/config.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { buildPrograms, repositoryFile } from './built-programs.js';
import { startStack, type Stack } from './stack.js';

const HOUR_MS = 3_600_000;
/** Far less than an hour, and far more than a busy machine needs. */
const LIMIT_MS = 120_000;
/** In work for several polls; a budget would allow one each 140 ms. */
const PROCESSING_MS = 5_000;
const STATUS_POLL_MS = 1_500;
const WAITS = { statusAfterSendMs: 500, receiptAfterStatusMs: 500, statusPollMs: STATUS_POLL_MS, receiptPollMs: 1_000 };
const RULES = { unknownGraceMs: 1_500, guardMs: 40 };
const IDS = ['lost', 'taken', 'plain'];

interface Document {
  outcome?: string;
  timeline: { type: string }[];
}

/** A worker whose machine shows another time than that of everything around it. */
interface TestHarness {
  stack: Stack;
  documents: Map<string, Document>;
  /** How far off the worker's own log shows it to be. */
  shownOffMs: number;
}

const stacks: Stack[] = [];
const trials = new Map<number, TestHarness>();
const OFF = [HOUR_MS, -HOUR_MS];

beforeAll(async () => {
  await buildPrograms();
  await Promise.all(OFF.map(async (offMs) => trials.set(offMs, await tried(offMs))));
}, LIMIT_MS * 2);

afterAll(() => Promise.all(stacks.map((one) => one.stop())));

async function tried(offMs: number): Promise<TestHarness> {
  const stack = await startStack({
    sandbox: { language: 'en', processingMs: PROCESSING_MS },
    waits: WAITS,
    overrides: { rules: RULES },
  });
  stacks.push(stack);
  await stack.worker.stop();
  const worker = startShifted(stack, offMs);
  stack.worker = { ...stack.worker, stop: worker.stop };
  for (const [n, id] of IDS.entries()) {
    // The answer of one send is lost, and of another the send itself: graces are counted, too.
    const fault = { lost: 'drop_connection_before_work', taken: 'drop_connection_after_work' }[id];
    if (fault !== undefined) await stack.control('/faults', { fault, method: 'send', times: 1 });
    await stack.client.command(JSON.stringify({ command_id: id, account: 'main', xml: doc.accept([doc.pack(n)]) }));
    if (fault !== undefined)
      await until(
        `${fault} strikes`,
        async () => (await stack.control<{ open: unknown[] }>('/faults')).open.length === 0,
        LIMIT_MS,
      );
  }
  const documents = new Map<string, Document>();
  const ended = async (id: string): Promise<boolean> => {
    const { document } = await stack.client.get<{ document: Document }>(`/v1/commands/${id}`);
    documents.set(id, document);
    return document.outcome !== undefined;
  };
  for (const id of IDS) await until(`${id} ends, ${offMs} ms off`, () => ended(id), LIMIT_MS);
  return { stack, documents, shownOffMs: worker.shownOffMs() };
}

/** A worker as a process of its own, as its program starts. */
function startShifted({ env }: Stack, offMs: number): { stop(): Promise<void>; shownOffMs(): number } {
  const shift = ['--import', pathToFileURL(repositoryFile('test/support/shifted-clock.mjs')).href];
  const child = spawn(process.execPath, [...shift, fileURLToPath(builtFile('apps/worker/src/main.js'))], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], ...env, LOG_LEVEL: 'info', CLOCK_OFF_MS: String(offMs) },
  });
  let [log, saidAtMs] = ['', 0];
  child.stderr?.on('data', (chunk: Buffer) => {
    saidAtMs ||= Date.now();
    log += chunk.toString();
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { stop, shownOffMs: () => (JSON.parse(log.split('\n')[0] ?? '') as { time: number }).time - saidAtMs };
}

describe.each(OFF)('a worker whose clock is %d ms off', (offMs) => {
  const harness = (): TestHarness => trials.get(offMs) as TestHarness;
  const callsTo = async (method: string): Promise<number> => {
    const { calls } = await harness().stack.control<{ calls: { method: string; account: string; calls: number }[] }>(
      '/truth/calls',
    );
    return calls.find((one) => one.account === 'main' && one.method === method)?.calls ?? 0;
  };

  it('shows another time than we do', () => {
    expect(Math.abs(harness().shownOffMs - offMs)).toBeLessThan(HOUR_MS / 10);
  });

  it('concludes each document, sent once, in minutes and not after an hour', async () => {
    expect([...harness().documents].map(([id, { outcome }]) => `${id} ${outcome}`)).toEqual(
      IDS.map((id) => `${id} accepted`),
    );
    const { documents } = await harness().stack.control<{ documents: { sends: number }[] }>(
      '/truth/documents?limit=100',
    );
    expect(documents.map((one) => one.sends)).toEqual([1, 1, 1]);
  });

  it('believes a lost send to be absent in the end, and sends it again', () => {
    const { timeline } = harness().documents.get('lost') as Document;
    expect(timeline.map((event) => event.type).slice(0, 7)).toEqual([
      'DocumentRegistered',
      'SendAttempted',
      'SendUnconfirmed',
      'LookUpMissed',
      'SendAbsenceProven',
      'SendAttempted',
      'DocumentSent',
    ]);
  });

  it('polls no faster than the rules say, and breaks none', async () => {
    expect(await callsTo('status')).toBeLessThanOrEqual(IDS.length * (Math.ceil(PROCESSING_MS / STATUS_POLL_MS) + 2));
    expect(await callsTo('receipt')).toBe(IDS.length);
    expect(await harness().stack.control('/violations')).toMatchObject({ violations: [], count: 0, rateLimited: 0 });
  });
});
