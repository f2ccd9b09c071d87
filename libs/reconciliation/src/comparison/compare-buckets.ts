import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, parquet, quoted, type Duck } from '#duckdb';
import { ORDER } from '../snapshots/buckets.js';
import { BUCKETS } from '../snapshots/manifest.js';
import { differing, filesOf, joined, LEG_COLUMNS, type Slice } from './joined.js';
import { LEGS, OVERRIDDEN, OVERRIDES, RULES, type Rule } from './rules.js';
import { appliesTo, bucketResultFile, findingsFile, type BucketResult, type RunRecord } from './run-record.js';
import { withValues } from './values.js';

const SHOWN = Object.values(LEG_COLUMNS).flatMap((columns) => Object.keys(columns));
/** Columns of a findings file, in the order of the canonical row. `held`: it is in a container of the stock. */
export const FINDING_COLUMNS = ['item', 'code', 'severity', ...SHOWN, 'held'];
/** The canonical row of a finding. */
export const CANONICAL = `json_array(${FINDING_COLUMNS.join(', ')})`;

/** Of each topic the number of the first rule that holds; a topic without rules is left out. */
function topics(run: RunRecord, rules: readonly Rule[]): { topic: Rule['topic']; name: string; first: string }[] {
  return [...new Set(rules.map(({ topic }) => topic))].map((topic) => {
    const cases = rules.flatMap((one, number) =>
      one.topic === topic && appliesTo(run.legs, one) ? [`WHEN ${withValues(one.when, run)} THEN ${number}`] : [],
    );
    return { topic, name: `t_${topic}`, first: cases.length === 0 ? 'NULL::INTEGER' : `CASE ${cases.join('\n ')} END` };
  });
}

/** Whether an override may take the place of the rule with this number. */
function replaces({ of }: Rule, { rules, number }: { rules: readonly Rule[]; number: string }): string {
  if (of === undefined) return 'true';
  const numbers = rules.flatMap(({ code }, n) => (of.includes(code) ? [n] : []));
  return numbers.length === 0 ? 'false' : `${number} IN (${numbers.join(', ')})`;
}

/** What a difference becomes when a document of ours explains it, or the registry's answer is of another moment. */
function overridden(
  run: RunRecord,
  number: string,
  { rules, overrides }: Record<'rules' | 'overrides', readonly Rule[]>,
): string {
  const cases = overrides.flatMap((one, index) =>
    appliesTo(run.legs, one)
      ? [`WHEN ${replaces(one, { rules, number })} AND ${withValues(one.when, run)} THEN ${-1 - index}`]
      : [],
  );
  return cases.length === 0 ? number : `CASE ${cases.join(' ')} ELSE ${number} END`;
}

/** Rows of one side that are joined at a time: memory goes by them, and not by the size of a bucket. */
const MOST_ROWS = 1_000_000;
/** Parts of a bucket at most: its items have so many second digits of the MD5. */
const MOST_SLICES = 16;

/** A run with no more rows of a side is looked at as a whole: to plan the rules takes more than to apply them. */
const MOST_TOGETHER = 200_000;

/** The buckets of a run that are looked at together. */
export function groupsOf({ legs }: RunRecord, order = [...Array(BUCKETS).keys()]): number[][] {
  const isSmall = Object.values(legs).every(({ rows }) => rows <= MOST_TOGETHER);
  return isSmall ? [order] : order.map((bucket) => [bucket]);
}

export interface BucketsOfRun {
  run: RunRecord;
  buckets: readonly number[];
  /** Default: those of this version. */
  rules?: readonly Rule[];
  overrides?: readonly Rule[];
  /** Also looks at items about which sides agree: for the test that no rule speaks of them. */
  withAgreeing?: boolean;
  /** Default: 1,000,000. */
  mostRows?: number;
}

/**
 * Compares some buckets and writes the findings of each, sorted by item and code, with their digest. The files appear
 * whole, the result last: a process that ends before leaves a bucket that is done again, with the same result.
 * `onBucket`: told before one is written.
 */
export async function compareBuckets(
  duck: Duck,
  { folder, onBucket, ...of }: BucketsOfRun & { folder: string; onBucket?: ((bucket: number) => void) | undefined },
): Promise<BucketResult[]> {
  await findDifferences(duck, of);
  const results: BucketResult[] = [];
  for (const bucket of of.buckets) {
    onBucket?.(bucket);
    results.push(await write(duck, { folder, bucket, isAlone: of.buckets.length === 1 }));
  }
  return results;
}

/**
 * Makes the table `finding` of some buckets: what rules find, and what they explain (`quiet`). A large bucket is joined
 * in slices. Of each, a first pass joins the few columns that show where sides agree, and leaves out those items; the
 * rules look at whole rows of the rest.
 */
export async function findDifferences(duck: Duck, of: BucketsOfRun): Promise<void> {
  const rows = await mostRowsOf(duck, of);
  if (rows === 0 && (await isMade(duck))) return duck.run('DELETE FROM finding');
  let into = 'CREATE OR REPLACE TEMP TABLE finding AS';
  for (const slice of await slicesOf(duck, of, rows)) {
    await findInSlice(duck, of, { slice, into });
    into = 'INSERT INTO finding';
  }
}

/**
 * Parts of a bucket by the second digit of the MD5, so many that no side has more than about a million rows in one.
 * Files of an earlier version have no `run`: of these a bucket is one part, and so are several buckets.
 */
async function slicesOf(
  duck: Duck,
  { run, buckets, mostRows = MOST_ROWS }: BucketsOfRun,
  rows: number,
): Promise<Slice[]> {
  let count = 1;
  while (count < MOST_SLICES && rows > count * mostRows) count *= 2;
  const [bucket = 0, ...others] = buckets;
  if (count === 1 || others.length > 0 || !(await haveRuns(duck, allFilesOf(run, buckets)))) return [{ buckets }];
  const width = MOST_SLICES / count;
  return Array.from({ length: count }, (_, n) => {
    const first = MOST_SLICES * bucket + n * width;
    return { buckets, runs: { first, last: first + width - 1 } };
  });
}

const allFilesOf = (run: RunRecord, buckets: readonly number[]): string[] =>
  LEGS.flatMap((leg) => filesOf(run, leg, buckets) ?? []);

async function haveRuns(duck: Duck, files: string[]): Promise<boolean> {
  const rows = await duck.rows(`SELECT 1 FROM parquet_schema([${files.map(quoted).join(', ')}]) WHERE name = 'run'`);
  return rows.length === files.length;
}

async function findInSlice(
  duck: Duck,
  { run, rules = RULES, overrides = OVERRIDES, withAgreeing = false }: BucketsOfRun,
  { slice, into }: { slice: Slice; into: string },
): Promise<void> {
  const items = withAgreeing ? undefined : differing(run, slice);
  if (items !== undefined) await duck.run(`CREATE OR REPLACE TEMP TABLE differing AS ${items}`);
  const rows = joined(run, slice, items === undefined ? undefined : 'differing');
  const told = topics(run, rules);
  const quietOnes = rules.flatMap(({ quiet }, number) => (quiet === true ? [number] : []));
  const isQuiet = (number: string): string =>
    quietOnes.length === 0 ? 'false' : `${number} IN (${quietOnes.join(', ')})`;
  const orOther = (name: string): string => overridden(run, name, { rules, overrides });
  const final = told.map(({ topic, name }) =>
    OVERRIDDEN.includes(topic)
      ? `CASE WHEN ${name} IS NULL OR ${isQuiet(name)} THEN ${name} ELSE ${orOther(name)} END`
      : name,
  );
  const known = [...rules.entries(), ...overrides.map((one, index) => [-1 - index, one] as const)];
  const values = known.map(([n, one]) => `(${n}, ${quoted(one.code)}, ${quoted(one.severity)}, ${one.quiet === true})`);
  await duck.run(`
    CREATE OR REPLACE TEMP TABLE seen AS SELECT * FROM (
      SELECT *, ${told.map(({ name, first }) => `${first} AS ${name}`).join(',\n')} FROM (${rows}))
      WHERE coalesce(${told.map(({ name }) => name).join(', ')}) IS NOT NULL;
    ${into} SELECT DISTINCT item, r.code, r.severity, r.quiet, ${SHOWN.join(', ')}, held
      FROM (SELECT *, unnest([${final.join(', ')}]) AS number FROM seen) f
        JOIN (VALUES ${values.join(', ')}) r(number, code, severity, quiet) USING (number)`);
}

/**
 * Makes the table `into` (item, code) of what rules with these codes say of the items of a table, each where it is the
 * first of its topic. {@link openRun} was done.
 */
export async function saidOf(
  duck: Duck,
  run: RunRecord,
  { among, codes, into }: { among: string; codes: readonly string[]; into: string },
): Promise<void> {
  const told = topics(run, RULES);
  const values = RULES.flatMap(({ code }, number) => (codes.includes(code) ? [`(${number}, ${quoted(code)})`] : []));
  await duck.run(`CREATE TABLE ${into} (item VARCHAR, code VARCHAR)`);
  for (const buckets of groupsOf(run))
    await duck.run(`INSERT INTO ${into} SELECT DISTINCT item, code
      FROM (SELECT item, unnest([${told.map(({ first }) => first).join(',\n')}]) AS number
        FROM (${joined(run, { buckets }, among)}))
      JOIN (VALUES ${values.join(', ')}) r(number, code) USING (number)`);
}

/** How many rows the largest side has in some buckets. */
async function mostRowsOf(duck: Duck, { run, buckets }: BucketsOfRun): Promise<number> {
  const sides = LEGS.flatMap((leg) => [filesOf(run, leg, buckets) ?? []]).filter((files) => files.length > 0);
  const counts = sides.map((files) => `(SELECT count(*) FROM ${parquet(files)})`);
  const [found] = await duck.rows<{ rows: bigint }>(`SELECT greatest(${['0', ...counts].join(', ')}) AS rows`);
  return Number(found?.rows);
}

/** Whether buckets before have left the table `finding`. */
async function isMade(duck: Duck): Promise<boolean> {
  return (await duck.rows(`SELECT 1 FROM duckdb_tables() WHERE table_name = 'finding'`)).length > 0;
}

/** Writes a bucket of `finding`; `isAlone`: no other is in it. */
async function write(
  duck: Duck,
  { folder, bucket, isAlone }: { folder: string; bucket: number; isAlone: boolean },
): Promise<BucketResult> {
  const isIn = isAlone ? 'true' : `md5(item)[1] = ${quoted(bucket.toString(16))}`;
  const file = join(folder, `${findingsFile(bucket)}.${randomBytes(6).toString('hex')}`);
  try {
    await duck.run(`COPY (SELECT ${FINDING_COLUMNS.join(', ')} FROM finding WHERE NOT quiet AND ${isIn}
      ORDER BY ${ORDER}, code, severity) TO ${quoted(file)} (FORMAT parquet)`);
    const counts = await counted(duck, `NOT quiet AND ${isIn}`);
    const result: BucketResult = {
      ...{
        findings: Object.values(counts).reduce((sum, one) => sum + one, 0),
        counts,
        quieted: await counted(duck, `quiet AND ${isIn}`),
      },
      sha256: await digestOfLines(duck, { file, line: CANONICAL }),
    };
    await durable(file);
    await rename(file, join(folder, findingsFile(bucket)));
    const done = `${file}.json`;
    await durable(done, JSON.stringify(result));
    await rename(done, join(folder, bucketResultFile(bucket)));
    await durable(folder);
    return result;
  } finally {
    await rm(file, { force: true });
  }
}

async function counted(duck: Duck, which: string): Promise<Record<string, number>> {
  const rows = await duck.rows<{ code: string; n: bigint }>(
    `SELECT code, count(*) AS n FROM finding WHERE ${which} GROUP BY code ORDER BY code`,
  );
  return Object.fromEntries(rows.map(({ code, n }) => [code, Number(n)]));
}

/** Of a file or a folder: what it holds is on the disk. */
export async function durable(path: string, text?: string): Promise<void> {
  const handle = await open(path, text === undefined ? 'r' : 'w');
  try {
    if (text !== undefined) await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
