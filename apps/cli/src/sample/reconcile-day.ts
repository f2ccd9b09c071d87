import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duck } from '#duckdb';
import { defined } from '#kernel';
import { firstFindings, mappingOf, NAMED_ONLY, snapshotOfFile, snapshotsFolder, type Mapping } from '#reconciliation';
import { lookAt } from '../commands/first-steps.js';
import { fileRun } from '../commands/reconcile-file.js';
import { segmentSettings } from '../commands/segment-settings.js';
import type { CliConfig } from '../config.js';
import { say, table } from '../print.js';
import type { SampleCommand } from './day.js';
import { packsIn, sampleStock, type Planted, type SampleStock } from './stock.js';

/** What the run over the sample's stock found, and what was planted, in packs. */
export interface DayFindings {
  runId: string;
  found: number;
  codes: { code: string; planted: number; found: number }[];
  /** Findings that nobody planted, and plants that nobody found. */
  unexpected: string[];
  /** Findings of the run about packs that are not of the day; absent: none. */
  others?: number;
  /** The registry was asked by name alone: others may have packs in the same sandbox. */
  namedOnly?: true;
}

const MAPPING = { format: 'csv', encoding: 'utf-8', delimiter: ';', quote: '"' };
const STOCK_COLUMNS = ['item', 'place'];
const DISPOSAL_COLUMNS = ['item', 'place', 'receipt', 'moment'];
/** The sample's tills tell their sales at once: a pack that is gone without one is missed on the same day. */
const SETTINGS = { tillSalesDays: 0 };
/** Findings that are read; the day plants far fewer. */
const MOST_FINDINGS = 10_000;

/**
 * Compares the stock of the sample day with our record and with the registry. Only packs of the day count:
 * where several installations share a sandbox, our record has what the others have sent for the same company.
 */
export async function reconcileDay(
  config: CliConfig,
  { commands, at, account, folder }: { commands: readonly SampleCommand[]; at: Date; account: string; folder: string },
): Promise<DayFindings> {
  const moment = new Date().toISOString();
  const stock = sampleStock(commands);
  const files = writeFiles(folder, stock, at);
  const settings = segmentSettings(config);
  const disposals = await snapshotOfFile(
    snapshotsFolder(settings.folder),
    { kind: 'disposals', file: files.disposals, mapping: files.disposalsMapping, moment },
    { duck: settings, say },
  );
  const run = await fileRun(config, files.stock, {
    ...{ mapping: files.stockMapping, moment, account, way: 'list', settings: files.settings },
    ...{ disposals: disposals.folder, processes: '1', reason: 'the stock of the sample day' },
    sayProgress: () => undefined,
  });
  const isOfTheDay = packsOf(commands, stock);
  const found = (await findingsOf(config, run.folder)).filter(({ item }) => isOfTheDay.has(item));
  const others = run.result.findings - found.length;
  return {
    ...heldAgainst(stock.planted, run.runId, found),
    ...defined({ others: others === 0 ? undefined : others, namedOnly: run.result.namedOnly }),
  };
}

const packsOf = (commands: readonly SampleCommand[], { rows }: SampleStock): Set<string> =>
  new Set([...commands.flatMap(({ document }) => packsIn(document)), ...rows.map(({ item }) => item)]);

interface Found {
  item: string;
  code: string;
}

async function findingsOf(config: CliConfig, folder: string): Promise<Found[]> {
  const { memoryMb, threads, folder: temporary } = segmentSettings(config);
  const duck = await Duck.open({ memoryMb, threads, temporary: join(temporary, 'temporary-findings') });
  try {
    const rows = await firstFindings(duck, join(folder, 'comparison'), { limit: MOST_FINDINGS });
    return rows.map(({ item, code }) => ({ item: String(item), code: String(code) }));
  } finally {
    await duck.close();
  }
}

/** By code, and pack by pack. */
export function heldAgainst(planted: Planted, runId: string, found: readonly Found[]): DayFindings {
  const codes = [...new Set([...Object.keys(planted), ...found.map(({ code }) => code)])];
  const keyOf = (code: string, item: string): string => `${code} ${item}`;
  const wanted = new Set(Object.entries(planted).flatMap(([code, items]) => items.map((item) => keyOf(code, item))));
  const told = new Set(found.map(({ code, item }) => keyOf(code, item)));
  return {
    runId,
    found: found.length,
    codes: codes.map((code) => ({
      code,
      planted: planted[code]?.length ?? 0,
      found: found.filter((one) => one.code === code).length,
    })),
    unexpected: [
      ...[...told].filter((key) => !wanted.has(key)).map((key) => `found, and not planted: ${key}`),
      ...[...wanted].filter((key) => !told.has(key)).map((key) => `planted, and not found: ${key}`),
    ],
  };
}

/** The findings, and how to look at each. */
export const tellDay = ({ runId, codes, others, namedOnly }: DayFindings): string =>
  [
    table(
      ['difference', 'packs', 'planted', 'what to do'],
      codes.map(({ code, planted, found }) => [code, found, planted, lookAt(code)]),
    ),
    ...(others === undefined ? [] : [othersSaid(others)]),
    `the packs: npx pedigree reconcile findings ${runId} --code CODE`,
    `to follow them as cases: npx pedigree cases open ${runId}, then npx pedigree cases`,
    ...(namedOnly === true ? [NAMED_ONLY] : []),
  ].join('\n');

const othersSaid = (n: number): string =>
  n === 1
    ? '1 more finding of this run is of a pack that is not of the sample'
    : `${n} more findings of this run are of packs that are not of the sample`;

interface DayFiles {
  stock: string;
  stockMapping: string;
  disposals: string;
  disposalsMapping: Mapping;
  settings: string;
}

function writeFiles(folder: string, { rows, disposals }: SampleStock, at: Date): DayFiles {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const told = disposals.map(({ item, place, receipt }) => [item, place, receipt, at.toISOString()]);
  const shelf = rows.map(({ item, place }) => [item, place]);
  return {
    stock: write('stock.csv', csv(STOCK_COLUMNS, shelf)),
    stockMapping: write('stock.mapping.json', JSON.stringify(mapping(STOCK_COLUMNS))),
    disposals: write('disposals.csv', csv(DISPOSAL_COLUMNS, told)),
    disposalsMapping: mappingOf(mapping(DISPOSAL_COLUMNS), 'disposals'),
    settings: write('settings.json', JSON.stringify(SETTINGS)),
  };
}

const csv = (columns: string[], lines: string[][]): string =>
  [columns, ...lines].map((cells) => `${cells.join(';')}\n`).join('');

const mapping = (columns: string[]): object => ({
  ...MAPPING,
  columns: Object.fromEntries(columns.map((name) => [name, name])),
});
