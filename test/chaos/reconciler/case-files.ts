import { readdirSync } from 'node:fs';
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
  /** Places that its stock speaks of; null: of all. */
  places: string[] | null;
  stock: Set<string>;
  /** Items of which the registry told it. */
  answered: Set<string>;
  /** Items of its cases, by the file in which they stand. */
  files: Map<string, CaseItem[]>;
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
  const { moment, legs, places } = await readRun(folder);
  const { buckets } = await resultOf(folder);
  const findings = buckets.map(({ file }) => join(folder, file));
  const itemsOf = async (leg: 'registry' | 'stock', where = 'true'): Promise<Set<string>> => {
    const rows = await duck.rows<{ item: string }>(
      `SELECT item FROM ${parquet(legs[leg]?.files ?? [])} WHERE ${where}`,
    );
    return new Set(rows.map(({ item }) => item));
  };
  return {
    ...run,
    ...{ moment, places },
    found: await duck.rows(`SELECT item, code FROM ${parquet(findings)}`),
    stock: await itemsOf('stock'),
    answered: await itemsOf('registry', "answer <> 'denied'"),
    files: new Map(
      await Promise.all(itemFilesIn(folder).map(async (name) => [name, await rowsOf(duck, folder, name)] as const)),
    ),
  };
}

/** A run that was killed over its cases may have written several, each named by its content. */
const itemFilesIn = (folder: string): string[] => readdirSync(folder).filter(isItemsFile).sort();

async function rowsOf(duck: Duck, folder: string, name: string): Promise<CaseItem[]> {
  const rows = await duck.rows<ItemRow>(`SELECT code, kind, c1, series, place, item, carried
    FROM read_parquet('${join(folder, name)}', file_row_number = true) ORDER BY file_row_number`);
  return rows.map((row) => ({ item: row.item, carried: row.carried, caseId: caseIdOf(row.code, causeOf(row)) }));
}

/** No person is there to make parts of cases. */
function causeOf({ kind, c1, series, place }: ItemRow): CaseCause {
  if (kind === 'document') return { kind, document: c1 };
  return kind === 'container' ? { kind, container: c1 } : { kind: 'series', gtin: c1, series, place };
}
