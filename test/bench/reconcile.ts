import { mkdir, writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '#kernel';
import { digestOfLines, Duck, parquet } from '#duckdb';
import {
  BUCKETS,
  bucketFile,
  canonicalRow,
  columnsOf,
  comparisonSettings,
  MANIFEST,
  openComparison,
  resultOf,
  runComparison,
  snapshotDigest,
  type SnapshotKind,
} from '#reconciliation';
import { builtFile } from '../../apps/cli/src/config.js';
import { thisMachine, type BenchReport } from './report.js';

const LIMIT_MB = 700;
const THREADS = 2;
const MOMENT = '2026-11-23T05:00:00.000Z';
const MOMENT_MS = Date.parse(MOMENT);

/**
 * Compares so many packs of three sides, with all rules, from snapshots to findings files; a share of
 * them differs. Beside it DuckDB's bare join of the same rows, unbucketed, under the same limits.
 */
export async function reconcile({ quick, packs }: { quick: boolean; packs?: number }): Promise<BenchReport> {
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
    const made = await withDuck((duck) => makeLegs(duck, folder, count));
    const few = await compared(folder, 'few');
    const many = await compared(folder, 'many');
    const bare = await timed(() => withDuck((duck) => bareJoin(duck, folder)));
    return {
      bench: 'reconcile',
      figures: {
        ...{ packs: count, seconds: few.seconds, peak_mb: few.peakMb, findings: few.findings },
        ...{ many_seconds: many.seconds, many_peak_mb: many.peakMb, many_findings: many.findings },
        digest_seconds: made.digestSeconds,
      },
      ceilings: { bare_join_seconds: bare, goal_peak_mb: 1_000 },
      ratios: { of_bare_join: rounded(few.seconds / bare), goal_of_bare_join: 0.5 },
      machine: thisMachine(),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Shares of packs that differ: 0.01 % and 5 %. */
const NTH = { few: 10_000, many: 20 } as const;
type Share = keyof typeof NTH;

interface Made {
  digestSeconds: number;
}

const ITEM = `concat('0460123456789', i % 10, lpad(upper(substr(md5(i::VARCHAR), 1, 13)), 13, '0'))`;
const STOCK = `SELECT ${ITEM} AS item, concat('P', i % 50) AS place, concat('S', i % 400) AS series,
  DATE '2027-12-31' AS expiry, 'sellable' AS state, ${MOMENT_MS}::BIGINT AS moment, 1::INTEGER AS copies`;
const RECORD = `SELECT ${ITEM} AS item, '04601234567890' AS gtin, 'in_circulation' AS status,
  concat('P', i % 50) AS place, NULL::VARCHAR AS container, i AS known_from, false AS uncertain`;
const registry = (nth: number): string => `SELECT ${ITEM} AS item, 'found' AS answer,
  CASE WHEN i % ${nth} = 0 THEN 'in_sale' ELSE 'in_circulation' END AS status, concat('P', i % 50) AS place,
  NULL::VARCHAR AS container, concat('S', i % 400) AS series, DATE '2027-12-31' AS expiry,
  ${MOMENT_MS - 40 * 86_400_000}::BIGINT AS moved_at, ${MOMENT_MS}::BIGINT AS moment, 1::INTEGER AS copies`;

async function makeLegs(duck: Duck, folder: string, packs: number): Promise<Made> {
  const begun = await snapshot(duck, join(folder, 'stock'), { kind: 'stock', select: STOCK, packs });
  const few = await snapshot(duck, join(folder, 'few'), { kind: 'registry', select: registry(NTH.few), packs });
  const many = await snapshot(duck, join(folder, 'many'), { kind: 'registry', select: registry(NTH.many), packs });
  const states = join(folder, 'record');
  await mkdir(states);
  await files(duck, states, { select: RECORD, packs, name: (bucket) => `packs-${bucket.toString(16)}.parquet` });
  const buckets = Array.from({ length: BUCKETS }, (_, n) => ({
    ...{ file: `packs-${n.toString(16)}.parquet`, packs: 0, sha256: sha256Hex(String(n)) },
  }));
  const lines = buckets.map((one, n) => `${n.toString(16)} ${one.packs} ${one.sha256}\n`);
  await writeFile(
    join(states, 'states.json'),
    JSON.stringify({ at: '1', packs, digest: sha256Hex(lines.join('')), buckets }),
  );
  return { digestSeconds: rounded(begun + few + many) };
}

interface Leg {
  select: string;
  packs: number;
  name: (bucket: number) => string;
}

async function files(duck: Duck, folder: string, { select, packs, name }: Leg): Promise<void> {
  for (let bucket = 0; bucket < BUCKETS; bucket += 1)
    await duck.run(`COPY (SELECT * FROM (${select} FROM range(${packs}) t(i))
      WHERE substr(md5(item), 1, 1) = '${bucket.toString(16)}' ORDER BY substr(md5(item), 1, 2), item)
      TO '${join(folder, name(bucket))}' (FORMAT parquet)`);
}

/** Returns the seconds that digests took. */
async function snapshot(
  duck: Duck,
  folder: string,
  { kind, select, packs }: { kind: SnapshotKind; select: string; packs: number },
): Promise<number> {
  await mkdir(folder);
  await files(duck, folder, { select, packs, name: bucketFile });
  const buckets: { file: string; rows: number; sha256: string }[] = [];
  const seconds = await timed(async () => {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const file = bucketFile(bucket);
      const sha256 = await digestOfLines(duck, { file: join(folder, file), line: canonicalRow(columnsOf(kind)) });
      buckets.push({ file, rows: 0, sha256 });
    }
  });
  const scope = { kind, moment: MOMENT, branch: null, places: null };
  const digest = snapshotDigest(scope, buckets);
  const rest = { format: 1, rows: packs, containers: 0, wrongCheckDigits: 0 };
  await writeFile(join(folder, MANIFEST), JSON.stringify({ ...scope, ...rest, digest, buckets }));
  return seconds;
}

async function compared(folder: string, share: Share): Promise<{ seconds: number; peakMb: number; findings: number }> {
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

async function bareJoin(duck: Duck, folder: string): Promise<void> {
  const all = (leg: string, name: (bucket: number) => string): string =>
    parquet(Array.from({ length: BUCKETS }, (_, bucket) => join(folder, leg, name(bucket))));
  await duck.run(`COPY (SELECT item, s.place, r.status, g.status AS registry_status FROM ${all('stock', bucketFile)} s
      FULL JOIN ${all('record', (bucket) => `packs-${bucket.toString(16)}.parquet`)} r USING (item)
      FULL JOIN ${all('few', bucketFile)} g USING (item)
    WHERE r.status IS DISTINCT FROM g.status OR s.place IS DISTINCT FROM g.place OR s.series IS DISTINCT FROM g.series
      OR s.expiry IS DISTINCT FROM g.expiry) TO '${join(folder, 'bare.parquet')}' (FORMAT parquet)`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return rounded((performance.now() - begun) / 1_000);
}

const rounded = (n: number): number => Math.round(n * 100) / 100;
