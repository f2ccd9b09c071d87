import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duck } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { firstFindings, mappingOf, OVERRIDES, RULES, snapshotOfFile } from '#reconciliation';
import { segmentSettings } from '../../apps/cli/src/commands/segment-settings.js';
import { fileRun, type FinishedRun } from '../../apps/cli/src/commands/reconcile-file.js';
import { ownConfig } from '../../apps/cli/src/config.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { sized } from '../support/sized.js';
import { until } from '../support/until.js';
import { buildPrograms } from './built-programs.js';
import { quickStack } from './quick-stack.js';
import {
  BOX,
  HERE,
  INNOCENT,
  NOT_THROUGH_A_REGISTRY,
  OUR_NUMBER,
  planted,
  SERIES,
  type Plant,
  type RegistryStory,
  type ShelfRow,
} from './registry-stories.js';
import { startStack, type Stack } from './stack.js';

/** By filter: a list asks for packs that we know of, and shows none that the registry alone has. */
const WORLDS = [
  { seed: 21, limits: 'short', way: 'filter', records: 'full' },
  { seed: 22, limits: 'real', way: 'filter', records: 'full' },
  { seed: 23, limits: 'short', way: 'filter', records: 'full' },
  { seed: 24, limits: 'short', way: 'export', records: 'full' },
  // No record tells a place (public-facts 1.3).
  { seed: 25, limits: 'short', way: 'filter', records: 'facts' },
] as const;
const { worlds, runs } = sized({
  test: { worlds: WORLDS.slice(0, 1), runs: ['the first run'] },
  soak: { worlds: WORLDS, runs: ['the first run', 'the second run'] },
});
/** More with PLANTED_PACKS, such as 100000, which takes its time. */
const PACKS = Number(process.env['PLANTED_PACKS'] ?? 2_000);
/** Packs of each story. */
const EACH = Math.ceil(PACKS / 700);
const limitMs = 300_000 + PACKS * 50;
const DAY_MS = 86_400_000;
const HUNG_DAYS = 70;

let stack: Stack;
beforeAll(buildPrograms, 300_000);
afterEach(() => stack?.stop());

interface Pack {
  item: string;
  story: RegistryStory;
}

/** The planted ones first, then innocent ones; the same for the same seed. */
function packsOf(seed: number, stories: readonly RegistryStory[]): Pack[] {
  const wanted = stories.flatMap((story) => Array<RegistryStory>(EACH).fill(story));
  return Array.from({ length: PACKS }, (_, n) => {
    const digest = createHash('sha256').update(`${seed} ${n}`).digest();
    const story = wanted[n] ?? (INNOCENT[(n - wanted.length) % INNOCENT.length] as RegistryStory);
    const digits = `046000000${String(digest[0] as number).padStart(4, '0')}`;
    const check = Number(checkDigitOf(digits));
    const gtin = `${digits}${story.wrongDigit === true ? (check + 1) % 10 : check}`;
    return { item: `${gtin}${digest.toString('hex').toUpperCase().slice(0, 13)}`, story };
  });
}

const ON_SHELF = { owner: 'own', place: HERE, series: SERIES, expires: '31.12.2030' };

async function plant(packs: readonly Pack[], of: (story: RegistryStory) => Plant | null | undefined): Promise<void> {
  const all = packs.flatMap(({ item, story }) => {
    const told = of(story);
    return told === undefined || told === null ? [] : [{ ...ON_SHELF, ...told, sgtin: item }];
  });
  for (let from = 0; from < all.length; from += 10_000)
    await stack.control('/plant', { packs: all.slice(from, from + 10_000) });
}

const advance = (days: number): Promise<unknown> => stack.control('/clock', { advanceMs: days * DAY_MS });

async function suspend(packs: readonly Pack[]): Promise<void> {
  const byProduct = new Map<string, string[]>();
  for (const { item, story } of packs)
    if (story.suspended === true) byProduct.set(item.slice(0, 14), [...(byProduct.get(item.slice(0, 14)) ?? []), item]);
  for (const sgtins of byProduct.values()) await stack.control('/suspensions', { sgtins });
}

/** Our documents, through the gateway to their end. */
async function sendDocuments(packs: readonly Pack[]): Promise<void> {
  const about = (what: RegistryStory['document']): string[] =>
    packs.filter(({ story }) => story.document === what).map(({ item }) => item);
  const sent = {
    packs: doc.unitPack(BOX, about('packs')),
    uses: doc.retailSale(about('uses').map((id) => ({ id, part: '3/10' }))),
    refused: doc.movePlace(about('is refused')),
  };
  for (const [id, xml] of Object.entries(sent))
    await stack.client.command(JSON.stringify({ command_id: id, xml, account: 'main' }));
  const outcomeOf = async (id: string) =>
    (await stack.client.get<{ document: { outcome?: string } }>(`/v1/commands/${id}`)).document.outcome;
  for (const id of Object.keys(sent)) await until(`the end of ${id}`, async () => (await outcomeOf(id)) !== undefined);
  expect(await Promise.all(Object.keys(sent).map(outcomeOf))).toEqual(['accepted', 'accepted', 'rejected']);
  await stack.caughtUp();
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** What is only told of a pack whose place is known: by our record, or by the registry. */
const needsPlace = ({ name, finds = [] }: RegistryStory): boolean =>
  name === 'of another branch' || finds.includes('missing_locally');

/** Makes the world, up to and behind the moment of the count. */
async function makeWorld(seed: number, records: 'full' | 'facts'): Promise<{ packs: Pack[]; moment: number }> {
  const { virtualMs } = await clock();
  const count = virtualMs + 71 * DAY_MS;
  const expiry = dayOf(count - 20 * DAY_MS);
  const stories = planted({ expiry, expires: expiry.split('-').reverse().join('.') });
  const packs = packsOf(seed, records === 'full' ? stories : stories.filter((one) => !needsPlace(one)));
  await plant(packs, ({ long }) => (long === true ? {} : undefined));
  await advance(10);
  await plant(packs, ({ long, begins = {} }) => (long === true ? undefined : begins));
  await suspend(packs);
  await sendDocuments(packs);
  await advance(61);
  await plant(packs, ({ recently }) => recently);
  const moment = (await clock()).virtualMs + 3_600_000;
  await stack.control('/clock', { advanceMs: 7_200_000 });
  await plant(packs, ({ since }) => since);
  return { packs, moment };
}

const clock = (): Promise<{ virtualMs: number }> => stack.control('/clock');

const SHELF: ShelfRow = {
  ...{ place: HERE, series: SERIES, expiry: '2030-12-31', state: 'sellable' },
  ...{ funding: '', part: '', owner: '' },
};

function writeStock(folder: string, { packs, moment }: { packs: readonly Pack[]; moment: number }) {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const columns = ['item', ...Object.keys(SHELF)];
  const rows = packs.flatMap(({ item, story: { stock, twice } }) => {
    const row = [item, ...Object.values({ ...SHELF, ...stock })].join(';');
    return stock === null ? [] : twice === true ? [row, row] : [row];
  });
  const told = { 'long ago': 20, 'just now': 2 };
  const disposals = packs.flatMap(({ item, story: { disposed } }) =>
    disposed === undefined ? [] : [`${item};17/4;${new Date(moment - told[disposed] * DAY_MS).toISOString()}`],
  );
  const named = (names: string[]) => ({
    ...{ format: 'csv', delimiter: ';', columns: Object.fromEntries(names.map((name) => [name, name])) },
  });
  const sold = ['item', 'receipt', 'moment'];
  return {
    stock: write('stock.csv', [columns.join(';'), ...rows, ''].join('\n')),
    mapping: write('mapping.json', JSON.stringify(named(columns))),
    disposals: write('disposals.csv', [sold.join(';'), ...disposals, ''].join('\n')),
    disposalsMapping: mappingOf(named(sold), 'disposals'),
    // The registry's clock is months ahead of ours, so its answers are old beside the stock.
    settings: write('settings.json', JSON.stringify({ hungDays: HUNG_DAYS, owner: OUR_NUMBER, staleHours: 8_760 })),
  };
}

/** As the commands do it, with the variables of an installation. */
async function asPerson<T>(work: (config: ReturnType<typeof ownConfig>) => Promise<T>): Promise<T> {
  const before = { ...process.env };
  const { DATABASE_URL } = stack.env;
  Object.assign(process.env, {
    DATABASE_URL,
    DATA_DIR: join(stack.folder, 'data'),
    SEGMENTS_MEMORY_MB: '300',
    SEGMENTS_THREADS: '1',
  });
  try {
    return await work(ownConfig());
  } finally {
    process.env = before;
  }
}

type Files = ReturnType<typeof writeStock>;

const compared = (files: Files, moment: number, way: string): Promise<FinishedRun & { calls: number }> =>
  asPerson(async (config) => {
    const { folder, memoryMb, threads } = segmentSettings(config);
    const { folder: disposals } = await snapshotOfFile(
      join(folder, 'snapshots'),
      {
        ...{ kind: 'disposals', file: files.disposals, mapping: files.disposalsMapping },
        moment: new Date(moment).toISOString(),
      },
      { duck: { memoryMb, threads }, say: () => undefined },
    );
    const run = await fileRun(config, files.stock, {
      ...{ mapping: files.mapping, moment: new Date(moment).toISOString(), account: 'main', way, disposals },
      ...{ settings: files.settings, processes: '1', reason: 'the planted world', sayProgress: () => undefined },
      now: new Date(moment),
    });
    const { items } = await stack.client.get<{ items: { id: string; packs?: { calls: number } }[] }>(
      '/v1/reconciliations?limit=1',
    );
    return { ...run, calls: items.find(({ id }) => id === run.runId)?.packs?.calls ?? NaN };
  });

async function findingsOf({ folder }: FinishedRun): Promise<{ item: string; code: string }[]> {
  const duck = await Duck.open({ memoryMb: 300, threads: 1, temporary: join(stack.folder, 'duck') });
  try {
    const rows = await firstFindings(duck, join(folder, 'comparison'), { limit: 50_000 });
    return rows.map(({ item, code }) => ({ item: String(item), code: String(code) }));
  } finally {
    await duck.close();
  }
}

/** A line for each code, and what went wrong by story: few lines that say where to look. */
function judged(packs: readonly Pack[], found: readonly { item: string; code: string }[]) {
  const expected = packs.flatMap(({ item, story }) => (story.finds ?? []).map((code) => ({ item, code })));
  const key = ({ item, code }: { item: string; code: string }): string => `${code} ${item}`;
  const [wanted, told] = [new Set(expected.map(key)), new Set(found.map(key))];
  const stories = new Map(packs.map(({ item, story }) => [item, story.name]));
  const wrong = [
    ...expected.filter((one) => !told.has(key(one))).map((one) => `missed: ${one.code}: ${stories.get(one.item)}`),
    ...found.filter((one) => !wanted.has(key(one))).map((one) => `false: ${one.code}: ${stories.get(one.item)}`),
  ];
  const codes = [...new Set([...expected, ...found].map(({ code }) => code))].sort();
  const table = codes.map((code) => {
    const of = (all: readonly { item: string; code: string }[]) => all.filter((one) => one.code === code);
    const right = of(found).filter((one) => wanted.has(key(one))).length;
    return [code, of(expected).length, of(found).length, right / of(found).length, right / of(expected).length];
  });
  return { table, mistakes: [...new Set(wrong)].sort() };
}

const print = (lines: readonly (string | number)[][]): void =>
  void process.stdout.write(lines.map((line) => `${line.join('\t')}\n`).join(''));

/** What so many calls are for a million packs, and the least time that they take. */
function cost(calls: number, seconds: number): (string | number)[] {
  return [`${calls} calls`, `${Math.round((calls / PACKS) * 1e6)} for a million packs`, `${seconds.toFixed(1)} s here`];
}

describe('a world planted in the registry', () => {
  it.each(worlds)(
    'is found by a run with the right codes, and nothing else ($seed, $limits intervals, way $way)',
    async ({ seed, limits, way, records }) => {
      stack = await (limits === 'short'
        ? quickStack('interface-v1', { seed, packRecords: records })
        : startStack({ sandbox: { seed, language: 'en' } }));
      const { packs, moment } = await makeWorld(seed, records);
      const files = writeStock(join(stack.folder, 'erp'), { packs, moment });
      const lines: (string | number)[][] = [];
      for (const which of runs) {
        const begun = performance.now();
        const run = await compared(files, moment, way);
        lines.push([which, ...cost(run.calls, (performance.now() - begun) / 1000)]);
        const { table, mistakes } = judged(packs, await findingsOf(run));
        if (which === runs[0])
          print([
            [`${PACKS} packs, seed ${seed}, way ${way}, ${limits} intervals`],
            ['code', 'planted', 'found', 'precision', 'recall'],
            ...table,
            [JSON.stringify(run.result.quieted)],
          ]);
        expect(mistakes).toEqual([]);
        for (const [code, wanted, found, precision, recall] of table)
          expect([code, found, precision, recall]).toEqual([code, wanted, 1, 1]);
      }
      print(lines);
    },
    limitMs,
  );

  it('has every code that a live registry can show', () => {
    const told = new Set(planted({ expires: '', expiry: '' }).flatMap(({ finds = [] }) => finds));
    const codes = [...RULES, ...OVERRIDES].filter(({ quiet }) => quiet !== true).map(({ code }) => code);
    const left = [...new Set(codes)].filter((code) => !told.has(code)).sort();
    expect(left).toEqual(Object.keys(NOT_THROUGH_A_REGISTRY).sort());
  });
});
