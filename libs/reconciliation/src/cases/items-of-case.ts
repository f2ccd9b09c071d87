import type { CaseSighting } from '#domain';
import { quoted, type Duck } from '#duckdb';
import { runsFolder } from '../runs/run-folder.js';
import { ItemFiles, runsIn } from './item-files.js';

/**
 * Which of some items the last run of a case did not find in it. Undefined where that cannot be told: a run of
 * documents has no items, and the files of one of packs may lie elsewhere, or be removed.
 * `folder`: that of derived files.
 */
export async function strangersTo(
  duck: Duck,
  { folder, seen, items }: { folder: string; seen: CaseSighting; items: readonly string[] },
): Promise<string[] | undefined> {
  const { run, rows, older = [] } = seen;
  if (rows === undefined) return undefined;
  const files = new ItemFiles(duck, await runsIn(runsFolder(folder)));
  const parts: string[] = [];
  for (const one of [{ run: run.id, rows }, ...older]) {
    const file = one.rows === undefined ? undefined : await files.find(one);
    if (file === undefined || one.rows === undefined) return undefined;
    parts.push(`SELECT item FROM read_parquet(${quoted(file)}, file_row_number = true)
      WHERE file_row_number >= ${one.rows.from} AND file_row_number < ${one.rows.to}`);
  }
  const listed = items.map((item) => `(${quoted(item)})`).join(', ');
  const strangers = await duck.rows<{ item: string }>(
    `SELECT item FROM (VALUES ${listed}) t(item) ANTI JOIN (${parts.join(' UNION ALL ')}) USING (item) ORDER BY item`,
  );
  return strangers.map(({ item }) => item);
}
