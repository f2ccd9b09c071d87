import { join } from 'node:path';
import { digestOfLines, quoted, type Duck } from '#duckdb';
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
  columns: readonly Column[];
  used: ReadonlySet<string>;
}

/** Adds the rows of `checked` that have no reason to the staged files. */
export async function stage(
  duck: Duck,
  { staging, columns }: { staging: string; columns: readonly Column[] },
): Promise<void> {
  const names = columns.map(({ name }) => name).join(', ');
  await duck.run(`COPY (SELECT line, item, ${names}, substr(md5(item), 1, 1) AS bucket FROM checked
    WHERE reason IS NULL) TO ${quoted(staging)} (FORMAT parquet, PARTITION_BY (bucket), APPEND)`);
}

/**
 * Writes the sorted file of each bucket, with its digest. Lines of items that stand there several times go to
 * `refused`; of such an item one row stays, with the values in which all agree. Returns the number of such items.
 */
export async function writeBuckets(
  duck: Duck,
  staged: Staged,
): Promise<{ buckets: BucketFacts[]; duplicates: number }> {
  const buckets: BucketFacts[] = [];
  let duplicates = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const file = join(staged.folder, bucketFile(bucket));
    duplicates += await writeBucket(duck, { ...staged, bucket, file });
    const [size] = await duck.rows<{ rows: bigint }>(`SELECT count(*) AS rows FROM read_parquet(${quoted(file)})`);
    const sha256 = await digestOfLines(duck, { file, line: canonicalRow(staged.columns) });
    buckets.push({ file: bucketFile(bucket), rows: Number(size?.rows), sha256 });
  }
  return { buckets, duplicates };
}

type OneBucket = Staged & { bucket: number; file: string };

async function writeBucket(duck: Duck, { staging, columns, used, bucket, file }: OneBucket): Promise<number> {
  const names = columns.map(({ name }) => name);
  const digit = bucket.toString(16);
  const rows = used.has(digit)
    ? `read_parquet(${quoted(join(staging, `bucket=${digit}`, '*.parquet'))}, hive_partitioning = false)`
    : '(SELECT * FROM checked LIMIT 0)';
  const write = (select: string): Promise<void> =>
    duck.run(`COPY (${select} ORDER BY ${ORDER}) TO ${quoted(file)} (FORMAT parquet)`);
  await write(`SELECT item, ${names.join(', ')}, 1::INTEGER AS copies FROM ${rows}`);
  await duck.run(`SET preserve_insertion_order = true;
    CREATE OR REPLACE TABLE twin AS SELECT DISTINCT item FROM (
      SELECT item, item = lag(item) OVER () AS again FROM read_parquet(${quoted(file)})) WHERE again;
    SET preserve_insertion_order = false`);
  const [found] = await duck.rows<{ twins: bigint }>('SELECT count(*) AS twins FROM twin');
  if (found === undefined || found.twins === 0n) return 0;
  const agreed = names.map(
    (name) => `CASE WHEN count(DISTINCT ${name}) = 1 AND count(${name}) = count(*)
    THEN min(${name}) END AS ${name}`,
  );
  await duck.run(`INSERT INTO refused SELECT unnest(lines), concat('item: "', item, '" is named by ', len(lines),
      ' rows, first in lines ', array_to_string(lines[1:5], ', '))
    FROM (SELECT item, list(line ORDER BY line) AS lines FROM ${rows} SEMI JOIN twin USING (item) GROUP BY item)`);
  await write(`SELECT * FROM (
    SELECT item, ${names.join(', ')}, 1::INTEGER AS copies FROM ${rows} ANTI JOIN twin USING (item)
    UNION ALL SELECT item, ${agreed.join(', ')}, count(*)::INTEGER AS copies FROM ${rows} SEMI JOIN twin USING (item)
      GROUP BY item)`);
  return Number(found.twins);
}
