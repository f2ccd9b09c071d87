import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parquet, quoted, type Duck } from '#duckdb';
import { PedigreeError } from '#kernel';
import { foreignCursor } from '#read-models';
import { FINDING_COLUMNS } from '../comparison/compare-buckets.js';
import { OVERRIDES, RULES } from '../comparison/rules.js';
import { findingsFile } from '../comparison/run-record.js';
import { ORDER } from '../snapshots/buckets.js';
import { BUCKETS } from '../snapshots/manifest.js';

/** Which findings of a run are meant; all that is named must hold. */
export interface FindingFilter {
  code?: string | undefined;
  severity?: string | undefined;
  /** What any side says of where the item is. */
  place?: string | undefined;
  /** What stock or registry says. */
  series?: string | undefined;
}

/** A finding as readers get it; what no side says is null. */
export type FindingRow = Record<string, string | number | boolean | null>;

/** Files of the findings of a run, by bucket. @throws PedigreeError `not_found` when the run is not at its end. */
export async function findingsFiles(folder: string): Promise<string[]> {
  const files = Array.from({ length: BUCKETS }, (_, bucket) => join(folder, findingsFile(bucket)));
  const there = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (there.every(Boolean)) return files;
  throw new PedigreeError('not_found', `the run in ${folder} is not at its end: findings are missing`, {});
}

const LOUD = [...RULES, ...OVERRIDES].filter(({ quiet }) => quiet !== true);
const KNOWN = {
  code: [...new Set(LOUD.map(({ code }) => code))].sort(),
  severity: [...new Set(LOUD.map(({ severity }) => severity as string))].sort(),
};

/** @throws PedigreeError `invalid_parameter` for what no finding has: an empty list would say that there is none. */
function mustBeKnown(filter: FindingFilter): void {
  for (const [field, known] of Object.entries(KNOWN)) {
    const value = filter[field as keyof typeof KNOWN];
    if (value === undefined || known.includes(value)) continue;
    const why = `${field}: ${value} is none of ${known.join(', ')}`;
    throw new PedigreeError('invalid_parameter', why, { field, item: value });
  }
}

function conditionOf(filter: FindingFilter): string {
  mustBeKnown(filter);
  const { code, severity, place, series } = filter;
  const is = (value: string | undefined, columns: string[]): string[] =>
    value === undefined ? [] : [`(${columns.map((name) => `${name} = ${quoted(value)}`).join(' OR ')})`];
  const all = [
    ...is(code, ['code']),
    ...is(severity, ['severity']),
    ...is(place, ['s_place', 'r_place', 'g_place', 'd_place']),
    ...is(series, ['s_series', 'g_series']),
  ];
  return all.length === 0 ? 'true' : all.join(' AND ');
}

const INSTANTS = ['s_moment', 'moved_at', 'g_moment', 'd_moment', 'x_moment'];

/** Numbers, and yes or no. Log positions are texts, as everywhere: they outgrow the numbers of JSON. */
const AS_THEY_ARE = ['copies', 'r_uncertain', 'held'];

/** A column as a reader gets it. Files have instants in milliseconds, here they are ISO 8601. */
function readable(name: string): string {
  if (INSTANTS.includes(name)) return `strftime(make_timestamp_ms(${name}), '%Y-%m-%dT%H:%M:%S.%gZ') AS ${name}`;
  return AS_THEY_ARE.includes(name) ? name : `${name}::VARCHAR AS ${name}`;
}

/** All columns of a row of findings. */
export const READABLE = FINDING_COLUMNS.map(readable).join(', ');

/** The first findings, in the order of their items. */
export async function firstFindings(
  duck: Duck,
  folder: string,
  { limit, ...filter }: FindingFilter & { limit: number },
): Promise<FindingRow[]> {
  const files = await findingsFiles(folder);
  return duck.rows(
    `SELECT ${READABLE} FROM ${parquet(files)} WHERE ${conditionOf(filter)} ORDER BY item, code LIMIT ${limit}`,
  );
}

/** Where a list of findings goes on: in the file of a bucket, behind a row. */
export interface FindingsPlace {
  bucket: number;
  afterRow: number;
}

/** Before the first. */
const BEGINNING: FindingsPlace = { bucket: 0, afterRow: -1 };

/** The place as a text that its reader need not understand. */
export const findingsCursor = ({ bucket, afterRow }: FindingsPlace): string =>
  Buffer.from(`f1:${bucket}:${afterRow}`).toString('base64url');

/** The place of a cursor; without one the beginning. @throws PedigreeError `invalid_parameter`. */
export function findingsPlaceOf(cursor: string | undefined): FindingsPlace {
  if (cursor === undefined) return BEGINNING;
  const [, bucket, row] = /^f1:(\d+):(-1|\d{1,12})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const place = { bucket: Number(bucket), afterRow: Number(row) };
  if (bucket === undefined || place.bucket >= BUCKETS || findingsCursor(place) !== cursor) throw foreignCursor();
  return place;
}

/** One page, bucket by bucket, in the order of the files; `next` is absent behind the last one. */
export async function findingsPage(
  duck: Duck,
  folder: string,
  { from, limit, ...filter }: FindingFilter & { from: FindingsPlace; limit: number },
): Promise<{ rows: FindingRow[]; next?: FindingsPlace }> {
  const files = await findingsFiles(folder);
  const rows: FindingRow[] = [];
  for (let { bucket, afterRow } = from; bucket < BUCKETS; [bucket, afterRow] = [bucket + 1, -1]) {
    const left = limit - rows.length;
    const found = await duck.rows<FindingRow & { at: string }>(
      `SELECT file_row_number::VARCHAR AS at, ${READABLE}
       FROM read_parquet(${quoted(files[bucket] as string)}, file_row_number = true)
       WHERE file_row_number > ${afterRow} AND ${conditionOf(filter)} ORDER BY file_row_number LIMIT ${left + 1}`,
    );
    const taken = found.slice(0, left);
    rows.push(...taken.map(({ at: _at, ...row }) => row));
    if (found.length > left) {
      const last = taken.at(-1);
      return { rows, next: { bucket, afterRow: last === undefined ? afterRow : Number(last.at) } };
    }
  }
  return { rows };
}

const PAGE = 5_000;

/**
 * All findings, some thousand at a time: bucket by bucket, in the order of the files. What a bucket has chosen waits
 * outside the memory of this process.
 */
export async function* allFindings(duck: Duck, folder: string, filter: FindingFilter): AsyncGenerator<FindingRow[]> {
  for (const file of await findingsFiles(folder)) {
    await duck.run(`CREATE OR REPLACE TEMP TABLE chosen AS SELECT row_number() OVER (ORDER BY ${ORDER}, code) AS n, *
      FROM ${parquet([file])} WHERE ${conditionOf(filter)}`);
    for (let from = 0; ; from += PAGE) {
      const rows = await duck.rows<FindingRow>(
        `SELECT ${READABLE} FROM chosen WHERE n > ${from} AND n <= ${from + PAGE} ORDER BY n`,
      );
      if (rows.length > 0) yield rows;
      if (rows.length < PAGE) break;
    }
  }
}
