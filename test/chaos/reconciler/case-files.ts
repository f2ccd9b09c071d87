import { join } from 'node:path';
import { caseIdOf, type CaseCause } from '#domain';
import { parquet, type Duck } from '#duckdb';
import { isItemsFile, readRun, resultOf } from '#reconciliation';
import type { LoggedRun } from './runs.js';

/** A row of the items of a run's cases. */
export interface CaseItem {
  item: string;
  /** By its cause. */
  caseId: string;
  /** The run did not find it: it stays from an earlier one. */
  carried: boolean;
}

/** A run with what its files say. */
export interface RunFiles extends LoggedRun {
  moment: string;
  found: { item: string; code: string }[];
  /** Items of which the registry told it. */
  answered: Set<string>;
  items: CaseItem[];
}

interface ItemRow extends Pick<CaseItem, 'item' | 'carried'> {
  code: string;
  kind: string;
  c1: string;
  series: string | null;
  place: string | null;
}

/** `folder`: that of its comparison. */
export async function readRunFiles(duck: Duck, run: LoggedRun, folder: string): Promise<RunFiles> {
  const { moment, legs } = await readRun(folder);
  const { buckets } = await resultOf(folder);
  const findings = buckets.map(({ file }) => join(folder, file));
  const registry = legs.registry?.files ?? [];
  const answers = await duck.rows<{ item: string }>(`SELECT item FROM ${parquet(registry)} WHERE answer <> 'denied'`);
  const rows = await duck.rows<ItemRow>(`SELECT code, kind, c1, series, place, item, carried
    FROM read_parquet('${join(folder, CASE_ITEMS_FILE)}', file_row_number = true) ORDER BY file_row_number`);
  return {
    ...run,
    moment,
    found: await duck.rows(`SELECT item, code FROM ${parquet(findings)}`),
    answered: new Set(answers.map(({ item }) => item)),
    items: rows.map((row) => ({ item: row.item, carried: row.carried, caseId: caseIdOf(row.code, causeOf(row)) })),
  };
}

/** No person is there to make parts of cases. */
function causeOf({ kind, c1, series, place }: ItemRow): CaseCause {
  if (kind === 'document') return { kind, document: c1 };
  return kind === 'container' ? { kind, container: c1 } : { kind: 'series', gtin: c1, series, place };
}
