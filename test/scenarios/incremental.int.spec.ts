// Left to the soak: runs of programs over days. `npm test` has runs that stand on earlier ones in libs/reconciliation.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { bucketFile } from '#reconciliation';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { sized } from '../support/sized.js';
import { until } from '../support/until.js';
import { buildPrograms } from './built-programs.js';
import { startStack, type Stack } from './stack.js';
import { reconcileHere, startedReconcile } from './started-reconcile.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}N${String(n).padStart(12, '0')}`;
const PLACE = '00000000100101';
const OTHER_PLACE = '00000000100102';
const box = (n: number): string => `${`0460000000000000${n}`}${checkDigitOf(`0460000000000000${n}`)}`;
const PACKS = 400;
/** At another place than the stock says, in each run. */
const DOUBTFUL = 900;
const PAGE = 20;

let stack: Stack;
beforeAll(async () => {
  await buildPrograms();
  const pageSize = { pageSize: PAGE };
  stack = await startStack({
    sandbox: { language: 'en' },
    overrides: { operations: { sgtins: pageSize, sgtins_by_list: pageSize } },
  });
  const planted = { gtin: GTIN, prefix: 'N', owner: 'own', place: PLACE };
  await stack.control('/plant', {
    ranges: [
      { ...planted, from: 0, count: PACKS },
      { ...planted, from: DOUBTFUL, count: 1, place: OTHER_PLACE },
    ],
  });
  const plantedMs = Date.now();
  const items = [...Array(PACKS).keys(), DOUBTFUL].map(sgtin);
  writeFileSync(
    join(stack.folder, 'stock.csv'),
    ['KM;Branch', ...items.map((one) => `${one};${PLACE}`), ''].join('\n'),
  );
  writeFileSync(
    join(stack.folder, 'mapping.json'),
    JSON.stringify({ format: 'csv', delimiter: ';', columns: { item: 'KM', place: 'Branch' } }),
  );
  await until('a later second than that of the plants', () => Promise.resolve(Date.now() > plantedMs + 1_000));
}, 600_000);
afterAll(() => stack.stop());

/** Each of these commands prints something; one that fails says why. */
async function reconcile(...args: string[]) {
  const { status, stdout, stderr } = await reconcileHere(stack, args);
  if (stdout === '') throw new Error(`reconcile ${args.join(' ')} ended with status ${status}: ${stderr}`);
  return { stdout };
}

/** What a process of its own said until it ended. */
async function endOf(child: ChildProcess, onText: (said: string) => void): Promise<string> {
  let said = '';
  child.stderr?.on('data', (text) => onText((said += String(text))));
  await once(child, 'close');
  return said;
}

/** Behind every answer of the registry, so that none is younger than the stock. */
const SOON = new Date(Date.now() + 3_600_000).toISOString();
const asked = (way: string, ...more: string[]): string[] => [
  ...[join(stack.folder, 'stock.csv'), '--mapping', join(stack.folder, 'mapping.json'), '--moment', SOON],
  ...['--account', 'main', '--way', way, '--incremental', '--overlap-hours', '0', '--json', ...more],
];

async function shown(runId: string) {
  const answer = await fetch(`${stack.gateway.url}/v1/reconciliations?limit=20`);
  const found = ANSWERS.ReconciliationPage.parse(await answer.json()).items.find(({ id }) => id === runId);
  if (found?.packs === undefined) throw new Error(`${runId} is not recorded`);
  return found.packs;
}

interface Made {
  run: string;
  packs: Awaited<ReturnType<typeof shown>>;
  /** Moments of the registry's answers by item. */
  moments: Map<string, bigint>;
}

async function made(args: string[]): Promise<Made> {
  const { stdout } = await reconcile(...args);
  const { run } = JSON.parse(stdout) as { run: string };
  return { run, packs: await shown(run), moments: await momentsOf(run) };
}

async function momentsOf(run: string): Promise<Made['moments']> {
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(stack.folder, 'duck') });
  const folder = join(stack.folder, 'data', 'segments', 'snapshots', `registry-${run}`);
  try {
    const rows = await duck.rows<{ item: string; moment: bigint }>(
      `SELECT item, moment FROM ${parquet([...Array(16).keys()].map((n) => join(folder, bucketFile(n))))}`,
    );
    return new Map(rows.map(({ item, moment }) => [item, moment]));
  } finally {
    await duck.close();
  }
}

/** Of the packs of the stock, those whose answer is another than that of the earlier run. */
const askedAgain = (before: Made, after: Made): string[] =>
  [...after.moments].filter(([item, moment]) => before.moments.get(item) !== moment).map(([item]) => item);

const isReplayed = async ({ run, packs }: Made): Promise<void> =>
  expect((await reconcile('--replay', run)).stdout).toBe(`the same digest: ${packs.digest}\n`);

/** A document of ours that the registry accepts, and that our record knows. */
async function packed(into: string, packs: string[]): Promise<void> {
  const id = `pack-${into}`;
  await stack.client.command(JSON.stringify({ command_id: id, xml: doc.unitPack(into, packs), account: 'main' }));
  const outcomeOf = async () =>
    (await stack.client.get<{ document: { outcome?: string } }>(`/v1/commands/${id}`)).document.outcome;
  await until(`the end of ${id}`, async () => (await outcomeOf()) !== undefined);
  expect(await outcomeOf()).toBe('accepted');
  await stack.caughtUp();
}

const sell = (n: number): Promise<unknown> =>
  stack.control('/plant', { packs: [{ sgtin: sgtin(n), owner: 'own', place: PLACE, status: 'in_sale' }] });

let byFilter: Made;
let byList: Made;

/** Which rows are taken over is tried without a run in take-over.int.spec.ts, too. */
const FULL_AGAIN: [string, string[], RegExp][] = [
  ['that was last done too long ago', ['--full-hours', '0'], /^the last run that asked about all began at 20/],
  ['most answers are too old', ['--row-hours', '0'], /^only 0 of 401 rows of run .+ could be taken over$/],
];

describe('an incremental run', () => {
  it('asks about all where there is none to stand on', async () => {
    byFilter = await made(asked('filter'));
    expect(byFilter.packs.stands_on).toBeUndefined();
    expect(byFilter.packs.reading).toMatchObject({
      ...{ asked: PACKS + 1, taken_over: 0, full_run: byFilter.run, calls_of_full: byFilter.packs.calls },
      why_full: 'no run has read the registry before with this account and way',
    });
    // 401 packs in pages of 20, each of which begins with the last pack of the one before.
    expect(byFilter.packs.calls).toBe(22);
  }, 300_000);

  it('asks for what has moved at the registry and what is in doubt, and takes the rest over', async () => {
    await sell(7);
    const second = await made(asked('filter'));
    const again = askedAgain(byFilter, second);
    expect(again.sort()).toEqual([sgtin(7), sgtin(DOUBTFUL)]);
    expect(second.packs).toMatchObject({
      calls: 2,
      counts: { ...byFilter.packs.counts, sold_in_registry_in_stock_here: 1 },
      stands_on: { run: byFilter.run, registry: byFilter.packs.sides.registry?.digest },
      reading: { asked: 2, taken_over: PACKS - 1, full_run: byFilter.run, calls_of_full: byFilter.packs.calls },
    });
    expect(second.packs.calls * 10).toBeLessThan(byFilter.packs.calls);
    await isReplayed(second);
    byFilter = second;
  }, 300_000);

  it('stands on an incremental one, and says so on its page and in the list', async () => {
    const third = await made(asked('filter'));
    expect(third.packs.counts).toEqual(byFilter.packs.counts);
    // The sold pack is in doubt now.
    expect(askedAgain(byFilter, third).sort()).toEqual([sgtin(7), sgtin(DOUBTFUL)]);
    expect(third.packs.stands_on?.run).toBe(byFilter.run);
    expect(third.packs.reading?.full_run).toBe(byFilter.packs.reading?.full_run);
    const page = join(stack.folder, 'report.html');
    await reconcile('report', third.run, '--out', page);
    expect(readFileSync(page, 'utf8').replace(/\s+/g, ' ')).toContain(
      `The registry answered for 2 rows. 399 were taken over from run <code>${byFilter.run}</code>`,
    );
    expect((await reconcile('runs')).stdout).toContain(`${third.packs.calls} of ${third.packs.reading?.calls_of_full}`);
  }, 300_000);

  it('asks by list for what our record knows since, also when nothing is listed by its moment', async () => {
    const first = await made(asked('list'));
    expect(first.packs.calls).toBe(21);
    await packed(box(1), [sgtin(8)]);
    byList = await made(asked('list'));
    expect(askedAgain(first, byList).sort()).toEqual([sgtin(7), sgtin(8), sgtin(DOUBTFUL)]);
    expect(byList.packs).toMatchObject({ calls: 1, reading: { asked: 3, taken_over: PACKS - 2 } });
    expect(byList.packs.calls * 10).toBeLessThan(first.packs.calls);
  }, 300_000);

  it('goes on after kill -9 with what it had taken over, and asks nothing twice', async () => {
    const child = startedReconcile(stack, asked('list'));
    const stderr = await endOf(child, (said) => {
      // Behind the first word about the fetch: what is taken over is decided.
      if (/are taken over from run .+\n.+/.test(said)) child.kill('SIGKILL');
    });
    const run = /run ([0-9a-f-]{36}):/.exec(stderr)?.[1] ?? '';
    await reconcile('--resume', run, '--json');
    const resumed: Made = { run, packs: await shown(run), moments: await momentsOf(run) };
    expect(askedAgain(byList, resumed).sort()).toEqual([sgtin(7), sgtin(DOUBTFUL)]);
    expect(resumed.packs).toMatchObject({ calls: 1, counts: byList.packs.counts, stands_on: { run: byList.run } });
    await isReplayed(resumed);
  }, 300_000);

  it.each(sized({ test: FULL_AGAIN.slice(0, 1), soak: FULL_AGAIN }))(
    'asks about all where %s',
    async (_, more, why) => {
      const all = await made(asked('list', ...more));
      expect(askedAgain(byList, all)).toHaveLength(PACKS + 1);
      expect(all.packs.stands_on).toBeUndefined();
      expect(all.packs).toMatchObject({
        counts: byList.packs.counts,
        reading: { taken_over: 0, full_run: all.run, calls_of_full: 21, why_full: expect.stringMatching(why) },
      });
    },
    300_000,
  );
});
