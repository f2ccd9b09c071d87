import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PedigreeError } from '#kernel';
import { Duck, parquet, quoted } from '#duckdb';
import { FINDING_COLUMNS, readRun } from '#reconciliation';
import type { CliConfig } from '../config.js';
import { out as print, say, table } from '../print.js';
import { runFolder } from './reconcile-file.js';
import { segmentSettings } from './segment-settings.js';

export interface FindingsFlags {
  code?: string;
  limit: string;
  json?: boolean;
}

/** Prints findings of a run, in the order of their items. */
export async function showPackFindings(
  config: CliConfig,
  runId: string,
  { code, limit, json }: FindingsFlags,
): Promise<number> {
  if (!/^[1-9]\d{0,5}$/.test(limit))
    throw new PedigreeError('invalid_parameter', `--limit: ${limit} is not a number from 1 to 999999`, {
      field: '--limit',
    });
  const folder = join(runFolder(config, runId), 'comparison');
  await readRun(folder);
  const files = [...Array(16).keys()].map((n) => join(folder, `findings-${n.toString(16)}.parquet`));
  if (!files.every((file) => existsSync(file)))
    throw new PedigreeError('not_found', `the run ${runId} is not at its end: --resume ${runId} goes on with it`, {});
  const { memoryMb, threads, folder: temporary } = segmentSettings(config);
  const duck = await Duck.open({ memoryMb, threads, temporary: join(temporary, 'temporary-findings') });
  try {
    const chosen = code === undefined ? '' : `WHERE code = ${quoted(code)}`;
    const columns = FINDING_COLUMNS.map((name) => `${name}::VARCHAR AS ${name}`).join(', ');
    const rows = await duck.rows<Record<string, string | null>>(
      `SELECT ${columns} FROM ${parquet(files)} ${chosen} ORDER BY item, code LIMIT ${Number(limit) + 1}`,
    );
    const shown = rows.slice(0, Number(limit));
    if (json === true) for (const row of shown) print(JSON.stringify(row));
    else
      print(
        table(
          SHOWN,
          shown.map((row) => SHOWN.map((name) => row[name] ?? '')),
        ),
      );
    if (rows.length > shown.length) say(`and more: --limit, or --code`);
    return 0;
  } finally {
    await duck.close();
  }
}

const SHOWN = [
  'item',
  'code',
  'severity',
  's_place',
  's_state',
  'r_status',
  'r_place',
  'answer',
  'g_status',
  'g_place',
];
