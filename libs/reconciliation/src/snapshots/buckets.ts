import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, quoted, type Duck } from '#duckdb';
import { namesInRows, type ReadColumn } from './check.js';
import { HEAD, RUN, SERIAL, WHOLE_ITEM } from './codes.js';
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
  /** Where the files go. */
  folder: string;
  columns: readonly ReadColumn[];
  /** What DuckDB may hold. */
  memoryMb: number;
}

/** What a row takes while it is sorted, in a lane. */
const BYTES_OF_ROW = 250;
/** Parts that are sorted at a time. */
const LANES = 2;

const TYPES: Record<Column['type'], string> = {
  text: 'VARCHAR',
  word: 'VARCHAR',
  date: 'DATE',
  instant: 'BIGINT',
  part: 'VARCHAR',
};

/** `staged`: all rows that have no reason. */
export async function createStaged(duck: Duck, columns: readonly ReadColumn[]): Promise<void> {
  const values = columns.flatMap(({ name, type, constant }) =>
    constant === undefined ? [`, ${name} ${TYPES[type]}`] : [],
  );
  await duck.run(`CREATE TABLE staged (run UTINYINT, head BIGINT, serial VARCHAR, line BIGINT ${values.join('')})`);
}

/** Adds the rows of `checked` that have no reason. */
export async function stage(duck: Duck, columns: readonly ReadColumn[]): Promise<void> {
  const names = namesInRows(columns).map((name) => `, ${name}`);
  await duck.run(`INSERT INTO staged SELECT ${RUN}, ${HEAD}, ${SERIAL}, line ${names.join('')}
    FROM checked WHERE reason IS NULL`);
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
  const parts = await partsOf(duck, staged.memoryMb);
  const each = BUCKETS / parts;
  await duck.inLanes(LANES, parts, async (own, part) => {
    const twins = await sortPart(own, runsOf(part * each, each), staged.columns);
    // Not in one step: what another lane adds meanwhile would be lost.
    duplicates += twins;
    const used = await usedBuckets(own);
    for (let bucket = part * each; bucket < (part + 1) * each; bucket += 1) {
      const like = used.has(bucket) ? undefined : empty;
      const made = await writeBucket(own, { ...staged, bucket, like });
      buckets[bucket] = made;
      if (made.rows === 0) empty = made;
    }
  });
  return { buckets, duplicates };
}

/** In how many parts the rows are sorted, so that those of all lanes fit into memory. */
async function partsOf(duck: Duck, memoryMb: number): Promise<number> {
  const [staged] = await duck.rows<{ rows: bigint }>('SELECT count(*) AS rows FROM staged');
  const bytes = Number(staged?.rows) * BYTES_OF_ROW * LANES;
  let parts = LANES;
  while (parts < BUCKETS && bytes / parts > memoryMb * 1e6) parts *= 2;
  return parts;
}

const runsOf = (bucket: number, buckets: number): string =>
  `run BETWEEN ${bucket * 16} AND ${(bucket + buckets) * 16 - 1}`;

/**
 * Makes `sorted` of staged rows, and `twin` of the items that several of them name. By numbers first, because nearly
 * all items begin with the same digits.
 */
async function sortPart(duck: Duck, runs: string, columns: readonly ReadColumn[]): Promise<number> {
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE sorted AS SELECT * FROM staged WHERE ${runs}
    ORDER BY run, head, serial`);
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE twin AS SELECT DISTINCT run, head, serial FROM (
    SELECT run, head, serial, head = lag(head) OVER () AND serial = lag(serial) OVER () AS again FROM sorted)
    WHERE again`);
  const [found] = await duck.rows<{ twins: bigint }>('SELECT count(*) AS twins FROM twin');
  const twins = Number(found?.twins);
  if (twins > 0) await mergeTwins(duck, columns);
  return twins;
}

/** Tells the lines of items that several rows name. `merged` has one row of each. */
async function mergeTwins(duck: Duck, columns: readonly ReadColumn[]): Promise<void> {
  await duck.run(`INSERT INTO refused (line, reason)
      SELECT unnest(lines), concat('item: "', ${WHOLE_ITEM}, '" is named by ', len(lines),
      ' rows, first in lines ', array_to_string(lines[1:5], ', '))
    FROM (SELECT head, serial, list(line ORDER BY line) AS lines FROM sorted SEMI JOIN twin USING (head, serial)
      GROUP BY head, serial)`);
  const values = columns.flatMap(({ name, newest, constant }) => {
    if (constant !== undefined) return [];
    const agreed = `CASE WHEN count(DISTINCT ${name}) = 1 AND count(${name}) = count(*) THEN min(${name}) END`;
    return [`, ${newest === true ? `max(${name})` : agreed} AS ${name}`];
  });
  await duck.run(`CREATE OR REPLACE TEMP TABLE merged AS SELECT min(run) AS run, head, serial ${values.join('')},
      count(*)::INTEGER AS copies
    FROM sorted SEMI JOIN twin USING (head, serial) GROUP BY head, serial`);
}

async function usedBuckets(duck: Duck): Promise<Set<number>> {
  const found = await duck.rows<{ bucket: number }>('SELECT DISTINCT run >> 4 AS bucket FROM sorted');
  return new Set(found.map(({ bucket }) => bucket));
}

/** `like`: an empty bucket that is there already, where this one is empty too. To write one takes many statements. */
type OneBucket = Staged & { bucket: number; like: BucketFacts | undefined };

async function writeBucket(duck: Duck, { folder, columns, bucket, like }: OneBucket): Promise<BucketFacts> {
  const file = join(folder, bucketFile(bucket));
  if (like !== undefined) {
    await copyFile(join(folder, like.file), file);
    return { ...like, file: bucketFile(bucket) };
  }
  await writeRows(duck, { columns, bucket, file });
  const [size] = await duck.rows<{ rows: bigint }>(`SELECT count(*) AS rows FROM read_parquet(${quoted(file)})`);
  const sha256 = await digestOfLines(duck, { file, line: canonicalRow(columns) });
  return { file: bucketFile(bucket), rows: Number(size?.rows), sha256 };
}

interface RowsOfBucket {
  columns: readonly ReadColumn[];
  bucket: number;
  file: string;
}

async function writeRows(duck: Duck, { columns, bucket, file }: RowsOfBucket): Promise<void> {
  const runs = runsOf(bucket, 1);
  const names = ['run', 'head', 'serial', ...namesInRows(columns)].join(', ');
  const [found] = await duck.rows<{ twins: bigint }>(`SELECT count(*) AS twins FROM twin WHERE ${runs}`);
  const rows = `SELECT ${names}, 1::INTEGER AS copies FROM sorted`;
  const select =
    found?.twins === 0n
      ? `${rows} WHERE ${runs}`
      : `SELECT * FROM (${rows} ANTI JOIN twin USING (head, serial) WHERE ${runs}
          UNION ALL SELECT ${names}, copies FROM merged WHERE ${runs}) ORDER BY run, head, serial`;
  const values = columns.map(({ name, constant }) => (constant === undefined ? name : `${constant} AS ${name}`));
  await duck.inOrder(`COPY (SELECT ${WHOLE_ITEM} AS item, ${values.join(', ')}, copies, run FROM (${select}))
    TO ${quoted(file)} (FORMAT parquet)`);
}
