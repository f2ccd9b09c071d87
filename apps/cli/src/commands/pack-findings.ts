import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { invalidParameter } from '#kernel';
import { Duck } from '#duckdb';
import {
  allFindings,
  FINDING_COLUMNS,
  firstFindings,
  readRun,
  SAID,
  saidOf,
  type FindingFilter,
  type FindingRow,
} from '#reconciliation';
import type { Columns } from '../../../gateway/src/api/columns.js';
import { asCsv } from '../../../gateway/src/api/csv.js';
import { asExcel } from '../../../gateway/src/api/excel.js';
import type { FileFormat } from '../../../gateway/src/api/file-types.js';
import { asNdjson, type Page } from '../../../gateway/src/api/ndjson.js';
import type { CliConfig } from '../config.js';
import { out as print, say, table, write } from '../print.js';
import { chosenFile, type FileOptions } from './list-file.js';
import { comparisonFolder } from './run-folder.js';
import { segmentSettings } from './segment-settings.js';
import { writeWhole } from './whole-file.js';

export interface FindingsFlags extends FindingFilter, FileOptions {
  limit: string;
  json?: boolean;
}

/** Prints findings of a run, in the order of their items, or writes all of them to a file. */
export async function showPackFindings(config: CliConfig, run: string, flags: FindingsFlags): Promise<number> {
  const { limit, json, code, severity, place, series } = flags;
  const filter: FindingFilter = { code, severity, place, series };
  if (!/^[1-9]\d{0,5}$/.test(limit)) throw invalidParameter('--limit', `${limit} is not a number from 1 to 999999`);
  const chosen = chosenFile(flags);
  const folder = comparisonFolder(config, run);
  await readRun(folder);
  const { memoryMb, threads, folder: temporary } = segmentSettings(config);
  const duck = await Duck.open({ memoryMb, threads, temporary: join(temporary, 'temporary-findings') });
  try {
    if (chosen === undefined) show(await firstFindings(duck, folder, { ...filter, limit: Number(limit) + 1 }));
    else await writeFile(allFindings(duck, folder, filter), chosen);
    return 0;
  } finally {
    await duck.close();
  }

  function show(rows: FindingRow[]): void {
    const shown = rows.slice(0, Number(limit));
    if (json === true) for (const row of shown) print(JSON.stringify(row));
    else
      print(
        table(
          ['item', 'code', 'severity', ...SAID.map(([, name]) => name)],
          shown.map((row) => {
            const said = saidOf(row);
            return [...[row['item'], row['code'], row['severity']].map(String), ...SAID.map(([side]) => said[side])];
          }),
        ),
      );
    if (rows.length > shown.length) say('and more: --limit, a filter, or --csv, --ndjson, --excel for all');
  }
}

const COLUMNS: Columns<FindingRow> = Object.fromEntries(
  FINDING_COLUMNS.map((name) => [name, (row: FindingRow) => row[name] ?? undefined]),
);

async function writeFile(
  pages: AsyncGenerator<FindingRow[]>,
  { format, file }: { format: FileFormat; file: string },
): Promise<void> {
  const next = async (): Promise<Page<FindingRow>> => {
    const { value, done } = await pages.next();
    return done === true ? { items: [] } : { items: value, next_cursor: 'on' };
  };
  const first = await next();
  const texts: AsyncIterable<string> | [Buffer] =
    format === 'excel'
      ? [await asExcel(first, next, COLUMNS)]
      : format === 'csv'
        ? asCsv(first, next, COLUMNS)
        : asNdjson(first, next);
  if (file !== '-') {
    await writeWhole(Readable.from(texts, { objectMode: true }), file);
    say(`written to ${file}`);
  } else if (format === 'excel') await pipeline(Readable.from(texts), process.stdout, { end: false });
  else for await (const text of texts) await write(String(text));
}
