import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, quoted, type Duck } from '#duckdb';
import { namesInRows, type ReadColumn } from './check.js';
import type { Column } from './kinds.js';
import { BUCKETS, bucketFile, type BucketFacts } from './manifest.js';

/** Order of the rows in all files: first two digits of the MD5, then the item. */
export const ORDER = 'substr(md5(item), 1, 2), item';

/** Columns of the files, in the order of the canonical row. `copies`: rows of the source that name the item. */
export const fileColumns = (columns: readonly Column[]): string[] => [
  'item',
  ...columns.map(({ name }) => name),
  'copies',
];

/** The canonical row: an RFC 8785 array. No text holds a control character, which DuckDB would write in its own way. */
export const canonicalRow = (columns: readonly Column[]): string => `json_array(${fileColumns(columns).join(', ')})`;

export interface Staged {
  /** Has a folder `bucket=x` for each bucket that has rows. */
  staging: string;
  /** Where the files go. */
  folder: string;
  columns: readonly ReadColumn[];
  /** Of the first digits, as numbers: those that have rows. */
  used: ReadonlySet<number>;
}

/**
 * The first two digits of an item's MD5 as a number: DuckDB has the first byte lowest. Files hold it as `run` beside
 * the columns of the canonical row, so that a part of a bucket is found without reading the whole.
 */
export const RUN = '(md5_number(item) & 255)::UTINYINT';
/** Buckets that are written at a time. */
const LANES = 2;

/** Adds the rows of `checked` that have no reason to the staged files. */
export async function stage(
  duck: Duck,
  { staging, columns }: { staging: string; columns: readonly ReadColumn[] },
): Promise<void> {
  const names = ['line', 'item', ...namesInRows(columns)].join(', ');
  await duck.run(`COPY (SELECT *, run >> 4 AS bucket FROM (SELECT ${names}, ${RUN} AS run FROM checked
    WHERE reason IS NULL)) TO ${quoted(staging)} (FORMAT parquet, PARTITION_BY (bucket), APPEND)`);
}

/**
 * Writes the sorted file of each bucket, with its digest. Lines of items that stand there several times go to
 * `refused`; of such an item one row stays, with the values in which all agree, or the newest. Returns the number of
 * such items.
 */
export async function writeBuckets(
  duck: Duck,
  staged: Staged,
): Promise<{ buckets: BucketFacts[]; duplicates: number }> {
  const buckets: BucketFacts[] = [];
  let duplicates = 0;
  let empty: BucketFacts | undefined;
  await duck.inLanes(LANES, BUCKETS, async (own, bucket) => {
    const file = join(staged.folder, bucketFile(bucket));
    if (!staged.used.has(bucket) && empty !== undefined) {
      // One empty file is as another, and to write one takes nine statements.
      await copyFile(join(staged.folder, empty.file), file);
      buckets[bucket] = { ...empty, file: bucketFile(bucket) };
      return;
    }
    const twins = await writeBucket(own, { ...staged, bucket, file });
    const [size] = await own.rows<{ rows: bigint }>(`SELECT count(*) AS rows FROM read_parquet(${quoted(file)})`);
    const sha256 = await digestOfLines(own, { file, line: canonicalRow(staged.columns) });
    buckets[bucket] = { file: bucketFile(bucket), rows: Number(size?.rows), sha256 };
    duplicates += twins;
    if (!staged.used.has(bucket)) empty = buckets[bucket];
  });
  return { buckets, duplicates };
}

type OneBucket = Staged & { bucket: number; file: string };

async function writeBucket(duck: Duck, { staging, columns, used, bucket, file }: OneBucket): Promise<number> {
  const names = namesInRows(columns);
  const rows = used.has(bucket)
    ? `read_parquet(${quoted(join(staging, `bucket=${bucket}`, '*.parquet'))}, hive_partitioning = false)`
    : '(SELECT *, 0::UTINYINT AS run FROM checked LIMIT 0)';
  const values = columns.map(({ name, constant }) => (constant === undefined ? name : `${constant} AS ${name}`));
  const write = (select: string): Promise<void> =>
    duck.inOrder(`COPY (SELECT item, ${values.join(', ')}, copies, run FROM (${select} ORDER BY run, item))
      TO ${quoted(file)} (FORMAT parquet)`);
  await write(`SELECT ${['item', ...names].join(', ')}, 1::INTEGER AS copies, run FROM ${rows}`);
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE twin AS SELECT DISTINCT item FROM (
      SELECT item, item = lag(item) OVER () AS again FROM read_parquet(${quoted(file)})) WHERE again`);
  const [found] = await duck.rows<{ twins: bigint }>('SELECT count(*) AS twins FROM twin');
  if (found === undefined || found.twins === 0n) return 0;
  const newest = columns.flatMap((column) => (column.newest === true ? [column.name] : []));
  const agreed = names.map((name) =>
    newest.includes(name)
      ? `max(${name}) AS ${name}, `
      : `CASE WHEN count(DISTINCT ${name}) = 1 AND count(${name}) = count(*) THEN min(${name}) END AS ${name}, `,
  );
  await duck.run(`INSERT INTO refused (line, reason)
      SELECT unnest(lines), concat('item: "', item, '" is named by ', len(lines),
      ' rows, first in lines ', array_to_string(lines[1:5], ', '))
    FROM (SELECT item, list(line ORDER BY line) AS lines FROM ${rows} SEMI JOIN twin USING (item) GROUP BY item)`);
  await write(`SELECT * FROM (
    SELECT ${['item', ...names].join(', ')}, 1::INTEGER AS copies, run FROM ${rows} ANTI JOIN twin USING (item)
    UNION ALL SELECT item, ${agreed.join('')}count(*)::INTEGER AS copies, min(run) AS run
      FROM ${rows} SEMI JOIN twin USING (item) GROUP BY item)`);
  return Number(found.twins);
}
