import { mkdir, writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined, PedigreeError, sha256Hex } from '#kernel';
import { digestOfLines, Duck, parquet } from '#duckdb';
import { FOLD } from '#segments';
import {
  ANSWERS_INDEX,
  BUCKETS,
  bucketFile,
  canonicalRow,
  columnsOf,
  comparisonSettings,
  MANIFEST,
  SNAPSHOT_FORMAT,
  openComparison,
  resultOf,
  runComparison,
  snapshotDigest,
  type SnapshotKind,
  type SnapshotManifest,
} from '#reconciliation';
import { builtFile } from '../../apps/cli/src/config.js';
import { reconcileCases } from './reconcile-cases.js';
import { reconcileCsv } from './reconcile-csv.js';
import { thisMachine, type BenchReport } from './report.js';

const LIMIT_MB = 700;
const THREADS = 2;
const MOMENT = '2026-11-23T05:00:00.000Z';
const MOMENT_MS = Date.parse(MOMENT);

interface ReconcileAsked {
  quick: boolean;
  packs?: number;
  /** `cases`: only the opening of cases. `csv`: only the reading of a stock file. */
  part?: string;
}

const PARTS: Record<string, (asked: ReconcileAsked) => Promise<BenchReport>> = {
  cases: reconcileCases,
  csv: reconcileCsv,
};

function partOf(name: string): (asked: ReconcileAsked) => Promise<BenchReport> {
  const part = PARTS[name];
  if (part !== undefined) return part;
  const message = `--part: ${name} is not a part of the bench reconcile; there are: ${Object.keys(PARTS).join(', ')}`;
  throw new PedigreeError('invalid_parameter', message, { field: '--part' });
}

/**
 * Compares so many packs of three sides, with all rules, from snapshots to findings files; a share of
 * them differs. Beside it DuckDB's bare join of the same rows, unbucketed, under the same limits.
 */
export async function reconcile({ quick, packs, part }: ReconcileAsked): Promise<BenchReport> {
  if (part !== undefined) return partOf(part)({ quick, ...defined({ packs }) });
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const count = packs ?? (quick ? 200_000 : 1_000_000);
  const withDuck = async <T>(work: (duck: Duck) => Promise<T>): Promise<T> => {
    const duck = await Duck.open({ memoryMb: LIMIT_MB, threads: THREADS, temporary: join(folder, 'temporary') });
    try {
      return await work(duck);
    } finally {
      await duck.close();
    }
  };
  try {
    const digest = await withDuck((duck) => makeLegs(duck, folder, count));
    const few = await compared(folder, 'few');
    const many = await compared(folder, 'many');
    const bare = await secondsOfBare(() => withDuck((duck) => bareJoin(duck, folder, 'few')));
    const bareOfMany = await secondsOfBare(() => withDuck((duck) => bareJoin(duck, folder, 'many')));
    return reportOf({ count, digest, few, many, bare, bareOfMany });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Shares of packs that differ: 0.01 % and 5 %. */
const NTH = { few: 10_000, many: 20 } as const;
type Share = keyof typeof NTH;

const ITEM = `concat('0460123456789', i % 10, lpad(upper(substr(md5(i::VARCHAR), 1, 13)), 13, '0'))`;
const STOCK = `concat('P', i % 50) AS place, concat('S', i % 400) AS series,
  DATE '2027-12-31' AS expiry, 'sellable' AS state, NULL::VARCHAR AS funding, NULL::VARCHAR AS part,
  NULL::VARCHAR AS owner, ${MOMENT_MS}::BIGINT AS moment, 1::INTEGER AS copies`;
const RECORD = `'04601234567890' AS gtin, 'in_circulation' AS status, concat('P', i % 50) AS place,
  NULL::VARCHAR AS container, i AS known_from, false AS uncertain, NULL::VARCHAR AS part_left`;
const registry = (nth: number): string => `'found' AS answer,
  CASE WHEN i % ${nth} = 0 THEN 'in_sale' ELSE 'in_circulation' END AS status, concat('P', i % 50) AS place,
  NULL::VARCHAR AS container, concat('S', i % 400) AS series, DATE '2027-12-31' AS expiry,
  '1' AS funding, '7701234567' AS owner, ${MOMENT_MS - 40 * 86_400_000}::BIGINT AS moved_at,
  ${MOMENT_MS}::BIGINT AS moment, 1::INTEGER AS copies`;

const packsFile = (bucket: number): string => `packs-${bucket.toString(16)}.parquet`;
const LEGS: Record<string, { columns: string; file: (bucket: number) => string; kind?: SnapshotKind }> = {
  stock: { columns: STOCK, file: bucketFile, kind: 'stock' },
  few: { columns: registry(NTH.few), file: bucketFile, kind: 'registry' },
  many: { columns: registry(NTH.many), file: bucketFile, kind: 'registry' },
  record: { columns: RECORD, file: packsFile },
};

interface Measured {
  count: number;
  digest: number;
  few: Compared;
  many: Compared;
  bare: number | undefined;
  bareOfMany: number | undefined;
}

function reportOf({ count, digest, few, many, bare, bareOfMany }: Measured): BenchReport {
  return {
    bench: 'reconcile',
    figures: {
      ...{ packs: count, seconds: few.seconds, peak_mb: few.peakMb, findings: few.findings },
      ...{ many_seconds: many.seconds, many_peak_mb: many.peakMb, many_findings: many.findings },
      seconds_per_million: rounded((few.seconds * 1_000_000) / count),
      many_seconds_per_million: rounded((many.seconds * 1_000_000) / count),
      digest_seconds_per_million: digest,
    },
    ceilings: {
      ...defined({ bare_join_seconds: bare, many_bare_join_seconds: bareOfMany }),
      ...{ bare_join_out_of_memory: bare === undefined ? 1 : 0, goal_peak_mb: 1_000 },
    },
    ratios: {
      ...(bare === undefined ? {} : { of_bare_join: rounded(few.seconds / bare) }),
      ...(bareOfMany === undefined ? {} : { many_of_bare_join: rounded(many.seconds / bareOfMany) }),
      goal_of_bare_join: 0.5,
    },
    machine: thisMachine(),
  };
}

/** Makes all sides. Items are numbered and put into buckets once; returns the seconds of a digest per million rows. */
async function makeLegs(duck: Duck, folder: string, packs: number): Promise<number> {
  const items = join(folder, 'items');
  await duck.run(`COPY (SELECT i, item, substr(digest, 1, 1) AS bucket, substr(digest, 1, 2) AS run
      FROM (SELECT *, md5(item) AS digest FROM (SELECT i, ${ITEM} AS item FROM range(${packs}) t(i))))
    TO '${items}' (FORMAT parquet, PARTITION_BY (bucket))`);
  for (const leg of Object.keys(LEGS)) await mkdir(join(folder, leg));
  await duck.run('SET preserve_insertion_order = true');
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const part = join(items, `bucket=${bucket.toString(16)}`);
    await duck.run(`CREATE OR REPLACE TEMP TABLE numbered AS
      SELECT i, item, ('0x' || run)::UTINYINT AS run FROM read_parquet('${part}/*.parquet') ORDER BY run, item`);
    for (const [leg, { columns, file }] of Object.entries(LEGS))
      await duck.run(`COPY (SELECT item, ${columns}, run FROM numbered) TO '${join(folder, leg, file(bucket))}'
        (FORMAT parquet)`);
    rmSync(part, { recursive: true });
  }
  await duck.run('DROP TABLE numbered; SET preserve_insertion_order = false');
  for (const [leg, { kind }] of Object.entries(LEGS))
    await (kind === undefined ? statesManifest(folder, packs) : snapshotManifest(join(folder, leg), kind, packs));
  return digestSeconds(duck, join(folder, 'stock', bucketFile(0)));
}

/** Digests of these manifests are not those of the files: a comparison goes by what a manifest says. */
async function statesManifest(folder: string, packs: number): Promise<void> {
  const buckets = Array.from({ length: BUCKETS }, (_, n) => ({
    ...{ file: packsFile(n), packs: 0, sha256: sha256Hex(String(n)) },
  }));
  const lines = buckets.map((one, n) => `${n.toString(16)} ${one.packs} ${one.sha256}\n`);
  await writeFile(
    join(folder, 'record', 'states.json'),
    JSON.stringify({ at: '1', fold: FOLD, packs, digest: sha256Hex(lines.join('')), buckets }),
  );
}

async function snapshotManifest(folder: string, kind: SnapshotKind, rows: number): Promise<void> {
  const buckets = Array.from({ length: BUCKETS }, (_, n) => ({
    ...{ file: bucketFile(n), rows: 0, sha256: sha256Hex(String(n)) },
  }));
  const scope = { kind, moment: MOMENT, branch: null, places: null };
  const answers = { name: ANSWERS_INDEX, bytes: 0, sha256: sha256Hex('') };
  const manifest: Omit<SnapshotManifest, 'source' | 'mapping' | 'importedAt'> = {
    ...scope,
    ...{ format: SNAPSHOT_FORMAT, rows, containers: 0, refused: 0, duplicates: 0, wrongCheckDigits: 0 },
    ...{ digest: snapshotDigest(scope, buckets), buckets, files: kind === 'registry' ? [answers] : [] },
  };
  await writeFile(join(folder, MANIFEST), JSON.stringify(manifest));
}

/** Of a bucket of stock, per million rows: what an import does beside a comparison. */
async function digestSeconds(duck: Duck, file: string): Promise<number> {
  const [size] = await duck.rows<{ rows: number }>(`SELECT count(*)::INTEGER AS rows FROM ${parquet([file])}`);
  const seconds = await timed(async () => {
    await digestOfLines(duck, { file, line: canonicalRow(columnsOf('stock')) });
  });
  return rounded((seconds * 1_000_000) / Math.max(1, size?.rows ?? 0));
}

interface Compared {
  seconds: number;
  peakMb: number;
  findings: number;
}

async function compared(folder: string, share: Share): Promise<Compared> {
  const out = join(folder, `run-${share}`);
  const legs = { stock: join(folder, 'stock'), record: join(folder, 'record'), registry: join(folder, share) };
  let peakMb = 0;
  const program = fileURLToPath(builtFile('libs/reconciliation/src/comparison/child.js'));
  const seconds = await timed(async () => {
    await openComparison(out, { ...legs, settings: comparisonSettings({}) });
    ({ peakMb } = await runComparison(out, { memoryMb: LIMIT_MB, threads: THREADS, processes: 1, program }));
    await resultOf(out);
  });
  return { seconds, peakMb, findings: (await resultOf(out)).findings };
}

async function bareJoin(duck: Duck, folder: string, share: Share): Promise<void> {
  const all = (leg: string, name: (bucket: number) => string): string =>
    parquet(Array.from({ length: BUCKETS }, (_, bucket) => join(folder, leg, name(bucket))));
  await duck.run(`COPY (SELECT item, s.place, r.status, g.status AS registry_status FROM ${all('stock', bucketFile)} s
      FULL JOIN ${all('record', packsFile)} r USING (item)
      FULL JOIN ${all(share, bucketFile)} g USING (item)
    WHERE r.status IS DISTINCT FROM g.status OR s.place IS DISTINCT FROM g.place OR s.series IS DISTINCT FROM g.series
      OR s.expiry IS DISTINCT FROM g.expiry) TO '${join(folder, `bare-${share}.parquet`)}' (FORMAT parquet)`);
}

/** Undefined where the limit of memory does not do for the bare join, as with 100 million packs. */
async function secondsOfBare(work: () => Promise<void>): Promise<number | undefined> {
  try {
    return await timed(work);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Out of Memory Error')) return undefined;
    throw error;
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return rounded((performance.now() - begun) / 1_000);
}

const rounded = (n: number): number => Math.round(n * 100) / 100;
