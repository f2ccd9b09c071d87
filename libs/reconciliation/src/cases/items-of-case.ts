import { join } from 'node:path';
import type { CaseSighting } from '#domain';
import { quoted, type Duck } from '#duckdb';
import { readRun } from '../comparison/run-record.js';
import { namesIn, runsFolder } from '../runs/run-folder.js';

/**
 * Which of some items the last run of a case did not find in it. Undefined where that cannot be told: a run of
 * documents has no items, and the files of one of packs may lie elsewhere, or be removed.
 * `folder`: that of derived files.
 */
export async function strangersTo(
  duck: Duck,
  { folder, seen, items }: { folder: string; seen: CaseSighting; items: readonly string[] },
): Promise<string[] | undefined> {
  const { run, rows } = seen;
  if (rows?.file === undefined) return undefined;
  for (const name of await namesIn(runsFolder(folder))) {
    const comparison = join(runsFolder(folder), name, 'comparison');
    const record = await readRun(comparison).catch(() => undefined);
    if (record?.inputs !== run.id) continue;
    const listed = items.map((item) => `(${quoted(item)})`).join(', ');
    const strangers = await duck.rows<{ item: string }>(
      `SELECT item FROM (VALUES ${listed}) t(item) ANTI JOIN (
         SELECT item FROM read_parquet(${quoted(join(comparison, rows.file))}, file_row_number = true)
         WHERE file_row_number >= ${rows.from} AND file_row_number < ${rows.to}) USING (item) ORDER BY item`,
    );
    return strangers.map(({ item }) => item);
  }
  return undefined;
}
