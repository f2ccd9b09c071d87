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

/**
 * The canonical row: an RFC 8785 array, as a text. What all rows have in common is made once, and not row by row. No
 * text holds a control character, which DuckDB would write in its own way, and an item holds letters and digits only.
 */
export function canonicalRow(columns: readonly ReadColumn[]): string {
  const json = (value: string): string => `coalesce(to_json(${value}), 'null')`;
  const parts = columns.map(({ name, constant }) =>
    constant === undefined ? { row: json(name) } : { all: json(constant) },
  );
  let line = `'["', item, concat('"'`;
  for (const part of parts) line += part.row === undefined ? `, ',', ${part.all}` : `, ','), ${part.row}, concat(''`;
  return `concat(${line}, ','), copies, ']')`;
}

export interface Staged {
  /** Has a folder `bucket=x` for each bucket that has rows. */
  staging: string;
  /** Where the files go. */
  folder: string;
  columns: readonly ReadColumn[];
  /** Of the first digits, as numbers: those that have rows. */
  used: ReadonlySet<number>;
}

/** The first two digits of an item's MD5 as a number: DuckDB has the first byte lowest. */
const RUN = '(md5_number(item) & 255)::UTINYINT';
/** Places of a snapshot that are listed. */
export const MOST_PLACES = 1_000;
/** Buckets that are written at a time. */
const LANES = 2;

/** Adds the rows of `checked` that have no reason to the staged files. */
export async function stage(
  duck: Duck,
  { staging, columns }: { staging: string; columns: readonly ReadColumn[] },
): Promise<void> {
  const names = ['line', 'item', ...namesInRows(columns)].join(', ');
  await duck.run(`COPY (SELECT *, run >> 4 AS bucket FROM (SELECT ${names}, ${RUN} AS run FROM checked
    WHERE reason IS NULL))
    TO ${quoted(staging)} (FORMAT parquet, COMPRESSION uncompressed, PARTITION_BY (bucket), APPEND)`);
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
  let empty: BucketFacts | undefined;
  await duck.inLanes(LANES, BUCKETS, async (own, bucket) => {
    const file = join(staged.folder, bucketFile(bucket));
    if (!staged.used.has(bucket) && empty !== undefined) {
      // One empty file is as another, and to write one takes nine statements.
      await copyFile(join(staged.folder, empty.file), file);
      buckets[bucket] = { ...empty, file: bucketFile(bucket) };
      return;
    }
    const { rows, twins } = await writeBucket(own, { ...staged, bucket, file });
    const sha256 = await digestOfLines(own, { file, line: canonicalRow(staged.columns) });
    buckets[bucket] = { file: bucketFile(bucket), rows, sha256 };
    duplicates += twins;
    if (!staged.used.has(bucket)) empty = buckets[bucket];
  });
  return { buckets, duplicates };
}

type OneBucket = Staged & { bucket: number; file: string };

/** Returns the number of its rows, and of items that several rows of the source name. */
async function writeBucket(
  duck: Duck,
  { staging, columns, used, bucket, file }: OneBucket,
): Promise<{ rows: number; twins: number }> {
  const names = namesInRows(columns);
  const rows = used.has(bucket)
    ? `read_parquet(${quoted(join(staging, `bucket=${bucket}`, '*.parquet'))}, hive_partitioning = false)`
    : '(SELECT *, 0::UTINYINT AS run FROM checked LIMIT 0)';
  const values = columns.map(({ name, constant }) => (constant === undefined ? name : `${constant} AS ${name}`));
  const write = (select: string): Promise<void> =>
    duck.inOrder(`COPY (SELECT item, ${values.join(', ')}, copies FROM (${select} ORDER BY run, item))
      TO ${quoted(file)} (FORMAT parquet)`);
  await write(`SELECT ${['item', ...names].join(', ')}, 1::INTEGER AS copies, run FROM ${rows}`);
  await noteValues(duck, { file, columns });
  const again = `SELECT item, item = lag(item) OVER () AS again FROM read_parquet(${quoted(file)})`;
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE seen AS SELECT count(*) AS "all", count(*) FILTER (again) AS more
    FROM (${again})`);
  const [seen] = await duck.rows<{ all: bigint; more: bigint }>('SELECT "all", more FROM seen');
  const [all, more] = [Number(seen?.all), Number(seen?.more)];
  if (more === 0) return { rows: all, twins: 0 };
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE twin AS SELECT DISTINCT item FROM (${again}) WHERE again`);
  const [found] = await duck.rows<{ twins: bigint }>('SELECT count(*) AS twins FROM twin');
  await duck.run(`INSERT INTO refused SELECT unnest(lines), concat('item: "', item, '" is named by ', len(lines),
      ' rows, first in lines ', array_to_string(lines[1:5], ', '))
    FROM (SELECT item, list(line ORDER BY line) AS lines FROM ${rows} SEMI JOIN twin USING (item) GROUP BY item)`);
  await write(withoutTwins(rows, names));
  return { rows: all - more, twins: Number(found?.twins) };
}

/** The rows, where those of one item are one with the values in which all agree. */
function withoutTwins(rows: string, names: readonly string[]): string {
  const agreed = names.map(
    (name) => `CASE WHEN count(DISTINCT ${name}) = 1 AND count(${name}) = count(*)
    THEN min(${name}) END AS ${name}, `,
  );
  return `SELECT * FROM (
    SELECT ${['item', ...names].join(', ')}, 1::INTEGER AS copies, run FROM ${rows} ANTI JOIN twin USING (item)
    UNION ALL SELECT item, ${agreed.join('')}count(*)::INTEGER AS copies, min(run) AS run
      FROM ${rows} SEMI JOIN twin USING (item) GROUP BY item)`;
}

/** Of all rows of a bucket, before those of one item become one: numbers with check digits, and places. */
async function noteValues(duck: Duck, { file, columns }: { file: string; columns: readonly Column[] }): Promise<void> {
  const from = `FROM read_parquet(${quoted(file)})`;
  const place = columns.some(({ name }) => name === 'place') ? 'place' : 'NULL';
  await duck.run(`INSERT INTO number SELECT DISTINCT CASE WHEN length(item) = 18 THEN item ELSE substr(item, 1, 14) END
      ${from}; INSERT INTO place SELECT DISTINCT ${place} ${from} LIMIT ${MOST_PLACES + 2}`);
}
