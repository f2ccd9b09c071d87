import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, quoted, type Duck } from '#duckdb';
import { namesInRows, OTHER_NUMBERS, type ReadColumn } from './check.js';
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

/**
 * The canonical row: an RFC 8785 array. No text holds a control character, which DuckDB would write in its own way.
 * Text by text, which takes less than json_array, and constants stand for themselves.
 */
export function canonicalRow(columns: readonly ReadColumn[]): string {
  const values = columns.map(({ name, constant }) => `coalesce(to_json(${constant ?? name})::VARCHAR, 'null')`);
  return `concat('[', ${['to_json(item)', ...values, 'copies'].join(", ',', ")}, ']')`;
}

export interface Staged {
  /** Where the files go. */
  folder: string;
  columns: readonly ReadColumn[];
}

/** Buckets that are sorted at a time. */
const LANES = 2;

const TYPES: Record<Column['type'], string> = {
  text: 'VARCHAR',
  word: 'VARCHAR',
  date: 'DATE',
  instant: 'BIGINT',
  part: 'VARCHAR',
};

/**
 * `staged`: all rows that have no reason. They are narrow, so that millions fit into memory: what stands beside the
 * item is a number, and `others` has the values. Each chunk has numbers of its own.
 */
export async function createStaged(duck: Duck, columns: readonly ReadColumn[]): Promise<void> {
  const values = columns.flatMap(({ name, type, constant }) =>
    constant === undefined ? [`, ${name} ${TYPES[type]}`] : [],
  );
  await duck.run(`CREATE SEQUENCE ${OTHER_NUMBERS}; CREATE TABLE others (other UINTEGER ${values.join('')});
    CREATE TABLE staged (run UTINYINT, head BIGINT, serial VARCHAR, line BIGINT, other UINTEGER)`);
}

/** Adds the rows of `checked` that have no reason. */
export async function stage(duck: Duck, columns: readonly ReadColumn[]): Promise<void> {
  const names = namesInRows(columns).map((name) => `, ${name}`);
  await duck.run(`INSERT INTO others SELECT other ${names.join('')} FROM rest WHERE reason IS NULL;
    INSERT INTO staged SELECT ${RUN}, ${HEAD}, ${SERIAL}, line, other FROM checked WHERE reason IS NULL`);
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
  const used = await usedBuckets(duck);
  await joinOthers(duck);
  await duck.inLanes(LANES, BUCKETS, async (own, bucket) => {
    const like = used.has(bucket) ? undefined : empty;
    const { twins, ...made } = await writeBucket(own, { ...staged, bucket, like });
    // Not in one step: what another lane adds meanwhile would be lost.
    duplicates += twins;
    buckets[bucket] = made;
    if (made.rows === 0) empty = made;
  });
  return { buckets, duplicates };
}

/**
 * `whole`: staged rows with their values. Each bucket looks through all of `others`; where that has a row for every few
 * staged ones, as with a receipt for each pack, they are joined once instead.
 */
async function joinOthers(duck: Duck): Promise<void> {
  const [size] = await duck.rows<{ many: boolean }>(
    'SELECT (SELECT count(*) FROM others) * 4 > (SELECT count(*) FROM staged) AS many',
  );
  await duck.run(`CREATE ${size?.many === true ? 'TABLE' : 'VIEW'} whole AS
    SELECT * EXCLUDE (other) FROM staged JOIN others USING (other)`);
}

async function usedBuckets(duck: Duck): Promise<Set<number>> {
  const found = await duck.rows<{ bucket: number }>('SELECT DISTINCT run >> 4 AS bucket FROM staged');
  return new Set(found.map(({ bucket }) => bucket));
}

/** `like`: an empty bucket that is there already, where this one is empty too. To write one takes many statements. */
type OneBucket = Staged & { bucket: number; like: BucketFacts | undefined };

async function writeBucket(
  duck: Duck,
  { folder, columns, bucket, like }: OneBucket,
): Promise<BucketFacts & { twins: number }> {
  const name = bucketFile(bucket);
  const file = join(folder, name);
  if (like !== undefined) {
    await copyFile(join(folder, like.file), file);
    return { ...like, file: name, twins: 0 };
  }
  const rows = rowsOf(bucket);
  await writeRows(duck, { columns, file, rows: `SELECT *, 1::INTEGER AS copies FROM (${rows})` });
  const twins = await twinsIn(duck, file);
  if (twins > 0) await mergeTwins(duck, { columns, file, rows });
  const [size] = await duck.rows<{ rows: bigint }>(`SELECT count(*) AS rows FROM read_parquet(${quoted(file)})`);
  const sha256 = await digestOfLines(duck, { file, line: canonicalRow(columns) });
  return { file: name, rows: Number(size?.rows), sha256, twins };
}

const rowsOf = (bucket: number): string =>
  `SELECT * FROM whole WHERE run BETWEEN ${bucket * 16} AND ${bucket * 16 + 15}`;

interface RowsOfBucket {
  columns: readonly ReadColumn[];
  file: string;
  rows: string;
}

/** Sorted by numbers first, because nearly all items begin with the same digits. */
async function writeRows(duck: Duck, { columns, file, rows }: RowsOfBucket): Promise<void> {
  const values = columns.map(({ name, constant }) => (constant === undefined ? name : `${constant} AS ${name}`));
  await duck.inOrder(`COPY (SELECT ${WHOLE_ITEM} AS item, ${values.join(', ')}, copies, run
    FROM (${rows} ORDER BY run, head, serial)) TO ${quoted(file)} (FORMAT parquet)`);
}

/** Makes `twin` of the items that several rows of a sorted file name. */
async function twinsIn(duck: Duck, file: string): Promise<number> {
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE twin AS SELECT DISTINCT ${HEAD} AS head, ${SERIAL} AS serial
    FROM (SELECT item, item = lag(item) OVER () AS again FROM read_parquet(${quoted(file)})) WHERE again`);
  const [found] = await duck.rows<{ twins: bigint }>('SELECT count(*) AS twins FROM twin');
  return Number(found?.twins);
}

/** Tells the lines of items that several rows name, and writes the file again with one row of each. */
async function mergeTwins(duck: Duck, { columns, file, rows }: RowsOfBucket): Promise<void> {
  await duck.run(`CREATE OR REPLACE TEMP TABLE again AS SELECT * FROM (${rows}) SEMI JOIN twin USING (head, serial);
    INSERT INTO refused (line, reason)
      SELECT unnest(lines), concat('item: "', ${WHOLE_ITEM}, '" is named by ', len(lines),
      ' rows, first in lines ', array_to_string(lines[1:5], ', '))
    FROM (SELECT head, serial, list(line ORDER BY line) AS lines FROM again GROUP BY head, serial)`);
  const values = columns.flatMap(({ name, newest, constant }) => {
    if (constant !== undefined) return [];
    const agreed = `CASE WHEN count(DISTINCT ${name}) = 1 AND count(${name}) = count(*) THEN min(${name}) END`;
    return [`, ${newest === true ? `max(${name})` : agreed} AS ${name}`];
  });
  const merged = `SELECT min(run) AS run, head, serial ${values.join('')}, count(*)::INTEGER AS copies
    FROM again GROUP BY head, serial`;
  const once = `SELECT * EXCLUDE (line), 1::INTEGER AS copies FROM (${rows}) ANTI JOIN twin USING (head, serial)`;
  await writeRows(duck, { columns, file, rows: `${once} UNION ALL BY NAME ${merged}` });
}
