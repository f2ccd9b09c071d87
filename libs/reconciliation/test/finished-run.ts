import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defined, sha256Hex, type Sha256 } from '#kernel';
import { digestOfLines, Duck, quoted } from '#duckdb';
import { CANONICAL, FINDING_COLUMNS } from '../src/comparison/compare-buckets.js';
import { LEG_COLUMNS } from '../src/comparison/joined.js';
import { resultOf } from '../src/comparison/run-comparison.js';
import {
  bucketResultFile,
  findingsFile,
  inputsDigest,
  RUN_FILE,
  type RunRecord,
  type StandsOn,
} from '../src/comparison/run-record.js';
import type { Leg } from '../src/comparison/rules.js';
import { comparisonSettings, type ComparisonSettings } from '../src/comparison/settings.js';
import { ANSWERS_INDEX, BUCKETS, REFUSED, REFUSED_ITEMS } from '../src/snapshots/manifest.js';

/** A row of a findings file; columns that are not named are NULL. */
export type FoundItem = { item: string; code: string; severity: string } & Record<string, unknown>;

export interface RunOver {
  legs?: readonly ('stock' | 'record' | 'registry')[];
  places?: string[] | null;
  unseen?: string[];
  namedOnly?: true;
  /** Whether the stock has containers. */
  containers?: boolean;
  settings?: Partial<ComparisonSettings>;
  /** By which it compared; absent: by those of before they were recorded. */
  rules?: Sha256;
  standsOn?: StandsOn;
}

interface FinishedRun extends RunOver {
  findings: FoundItem[];
  /** What the registry's side has; an answer without a moment is of that of the run. */
  registry: ({ item: string; answer: string; container: string | null; moment?: string } & Record<string, unknown>)[];
  /** What our record and the ERP's disposals have; absent: a row for each of the registry, and no such side. */
  record?: ({ item: string } & Record<string, unknown>)[];
  disposals?: ({ item: string } & Record<string, unknown>)[];
  /** Items and containers that documents in flight name; absent: documents are no side of it. */
  inFlight?: string[];
  /** How these documents stand; absent: in flight. */
  standing?: 'refused' | 'halted';
  /** Since when, ISO 8601; absent: since the moment of the run. */
  inFlightSince?: string;
  /** Items of rows of the stock that were refused. */
  refused?: string[];
  /** Answers of which the registry's side is made, and whether rows of it were refused. */
  answers?: { phase: string; unanswered?: string[] }[];
  unread?: true;
  /** Cells of its rows of the stock; cells that are not named are NULL. */
  stock?: ({ item: string } & Record<string, unknown>)[];
  moment: string;
}

/** Columns of a side's files. */
const cellsOf = (leg: Leg): Record<string, string> => ({
  item: 'VARCHAR',
  ...Object.fromEntries(Object.values(LEG_COLUMNS[leg])),
});
const TYPES: Record<string, string> = Object.fromEntries([
  ...['item', 'code', 'severity'].map((name) => [name, 'VARCHAR']),
  ['held', 'BOOLEAN'],
  ...Object.values(LEG_COLUMNS).flatMap((columns) => Object.entries(columns).map(([name, [, type]]) => [name, type])),
]);
let made = 0;

/** The folder of a comparison that found just this, as the comparison leaves it: all findings are in the first file. */
export async function writeFinishedRun(folder: string, run: FinishedRun): Promise<string> {
  await mkdir(folder);
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(folder, 'duck') });
  try {
    const write = (leg: Leg, rows: object[]): Promise<void> =>
      writeTable(duck, join(folder, `${leg}.parquet`), { rows, types: cellsOf(leg) });
    const at = Date.parse(run.moment);
    const asked = run.registry.map((one) => ({
      ...one,
      moment: one.moment === undefined ? at : Date.parse(one.moment),
    }));
    await write('registry', asked);
    await write(
      'record',
      (run.record ?? run.registry.map(({ item, container }) => ({ item, container }))).map((one) => ({
        known_from: 1,
        ...one,
      })),
    );
    const stock = (run.stock ?? []).map((one) => ({ copies: 1, ...one }));
    await write('stock', stock);
    await write('disposals', run.disposals ?? []);
    const standing = run.standing === undefined ? {} : { standing: run.standing, position: 9 };
    const since = Date.parse(run.inFlightSince ?? run.moment);
    await write(
      'documents',
      (run.inFlight ?? []).map((item) => ({ item, standing: 'in_flight', moment: since, ...standing })),
    );
    const rows = (run.refused ?? []).map((item) => ({ item }));
    if (rows.length > 0) await writeTable(duck, join(folder, REFUSED_ITEMS), { rows, types: { item: 'VARCHAR' } });
    await writeFindings(duck, folder, run.findings);
  } finally {
    await duck.close();
  }
  await writeAnswers(folder, run);
  await writeFile(join(folder, RUN_FILE), JSON.stringify(recordOf(folder, run)));
  await resultOf(folder);
  return folder;
}

async function writeAnswers(folder: string, { answers = [], unread }: FinishedRun): Promise<void> {
  const index = answers.map((one) => `${JSON.stringify({ unanswered: [], ...one })}\n`);
  await writeFile(join(folder, ANSWERS_INDEX), index.join(''));
  if (unread === true) await writeFile(join(folder, REFUSED), '{"line":1,"reason":"is not a date"}\n');
}

interface TableRows {
  rows: object[];
  types: Record<string, string>;
}

async function writeTable(duck: Duck, file: string, { rows, types }: TableRows): Promise<void> {
  const text = `${file}.ndjson`;
  await writeFile(text, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const columns = Object.entries(types).map(([name, type]) => `${name}: '${type}'`);
  await duck.run(`COPY (SELECT ${Object.keys(types).join(', ')} FROM read_json(${quoted(text)},
    format = 'newline_delimited', columns = {${columns.join(', ')}}) ORDER BY ALL)
    TO ${quoted(file)} (FORMAT parquet)`);
}

async function writeFindings(duck: Duck, folder: string, findings: FoundItem[]): Promise<void> {
  const types = Object.fromEntries(FINDING_COLUMNS.map((name) => [name, TYPES[name] as string]));
  await writeTable(duck, join(folder, findingsFile(0)), { rows: findings, types });
  await writeTable(duck, join(folder, findingsFile(1)), { rows: [], types });
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const file = join(folder, findingsFile(bucket));
    if (bucket > 1) await copyFile(join(folder, findingsFile(1)), file);
    const sha256 = bucket > 1 ? sha256Hex('') : await digestOfLines(duck, { file, line: CANONICAL });
    const counted = { findings: bucket === 0 ? findings.length : 0, counts: {}, quieted: {}, sha256 };
    await writeFile(join(folder, bucketResultFile(bucket)), JSON.stringify(counted));
  }
}

function recordOf(
  folder: string,
  { registry, moment, legs = ['stock', 'record', 'registry'], places = null, unseen = [], ...rest }: FinishedRun,
): RunRecord {
  const leg = (name: string) => ({
    ...{ folder, digest: sha256Hex(String((made += 1))), rows: registry.length },
    files: [join(folder, `${name}.parquet`)],
    ...(name === 'stock' && rest.refused !== undefined ? { refused: sha256Hex(rest.refused.join()) } : {}),
  });
  const record: Omit<RunRecord, 'inputs'> = {
    ...{
      format: 1,
      moment,
      settings: comparisonSettings(rest.settings ?? {}),
      legs: Object.fromEntries(
        [
          ...legs,
          ...(rest.inFlight === undefined ? [] : ['documents']),
          ...(rest.disposals === undefined ? [] : ['disposals']),
        ].map((one) => [one, leg(one)]),
      ),
    },
    ...{ places, wrongCheckDigits: false, containers: rest.containers ?? false, unseen },
    ...defined({ namedOnly: rest.namedOnly, rules: rest.rules, standsOn: rest.standsOn }),
  };
  return { ...record, inputs: inputsDigest(record) };
}
