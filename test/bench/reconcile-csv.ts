import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOfLines, Duck, quoted } from '#duckdb';
import { checkDigitOf, systemClock } from '#kernel';
import { BUCKETS, bucketFile, canonicalRow, columnsOf, importSnapshot, mappingOf } from '#reconciliation';
import { inTurns } from './in-turns.js';
import { thisMachine, type BenchReport } from './report.js';

const DUCK = { memoryMb: 700, threads: 2 };
const MOMENT = '2026-11-23T05:00:00.000Z';
const GOAL_OF_BARE = 0.3;
const ROUNDS = 3;
const GTINS = Array.from({ length: 10 }, (_, n) => `046012345678${n}`).map((digits) => digits + checkDigitOf(digits));
const MAPPING = {
  format: 'csv',
  delimiter: ';',
  columns: { item: 'sgtin', place: 'branch', series: 'lot', expiry: 'exp_date' },
};

/**
 * Reads a stock file of so many rows into a snapshot: codes checked, in buckets, sorted, with digests. Beside it
 * DuckDB's bare reading of the same file into one Parquet file, under the same limits. The digests of the snapshot are
 * told once more by themselves.
 */
export async function reconcileCsv({ quick, packs }: { quick: boolean; packs?: number }): Promise<BenchReport> {
  const rows = packs ?? (quick ? 200_000 : 1_000_000);
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  try {
    const path = join(folder, 'stock.csv');
    await withDuck(folder, (duck) => writeStock(duck, path, rows));
    const mapping = mappingOf(MAPPING, 'stock');
    const snapshot = (round: number): string => join(folder, `snapshot-${round}`);
    const own = async (round: number): Promise<void> => {
      if (round > 0) rmSync(snapshot(round - 1), { recursive: true });
      const out = snapshot(round);
      const read = await importSnapshot({ kind: 'stock', path, mapping, moment: MOMENT, out, duck: DUCK });
      if (read.rows !== rows) throw new Error(`${read.rows} of ${rows} rows were read`);
    };
    const bare = (round: number): Promise<void> =>
      withDuck(folder, (duck) =>
        duck.run(`COPY (SELECT * FROM read_csv(${quoted(path)}, delim = ';', header = true, all_varchar = true))
          TO ${quoted(join(folder, `bare-${round}.parquet`))} (FORMAT parquet)`),
      );
    const { own: ours, bare: theirs, ofBare } = await inTurns(ROUNDS, { own, bare, count: rows }, systemClock);
    const digestSeconds = await withDuck(folder, (duck) => secondsOfDigests(duck, snapshot(ROUNDS - 1)));
    return {
      bench: 'reconcile',
      figures: {
        ...{ rows, rows_per_second: Math.round(ours.perSecond), own_cpu_us_per_row: rounded(ours.cpuUs) },
        digest_seconds: rounded(digestSeconds),
        peak_mb: Math.round(process.resourceUsage().maxRSS / 1_024),
      },
      ceilings: {
        bare_csv_rows_per_second: Math.round(theirs?.perSecond ?? 0),
        bare_cpu_us_per_row: rounded(theirs?.cpuUs ?? 0),
      },
      ratios: { of_bare_csv: rounded(ofBare ?? 0), goal_of_bare_csv: GOAL_OF_BARE },
      machine: thisMachine(),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withDuck<T>(folder: string, work: (duck: Duck) => Promise<T>): Promise<T> {
  const duck = await Duck.open({ ...DUCK, temporary: join(folder, 'temporary') });
  try {
    return await work(duck);
  } finally {
    await duck.close();
  }
}

/** By the clock, in two lanes as an import makes them. */
async function secondsOfDigests(duck: Duck, snapshot: string): Promise<number> {
  const begunMs = systemClock.monotonicMs();
  await duck.inLanes(DUCK.threads, BUCKETS, async (own, bucket) => {
    await digestOfLines(own, { file: join(snapshot, bucketFile(bucket)), line: canonicalRow(columnsOf('stock')) });
  });
  return (systemClock.monotonicMs() - begunMs) / 1_000;
}

/** Rows in no order, as an accounting system writes them. */
const writeStock = (duck: Duck, path: string, rows: number): Promise<void> =>
  duck.run(`COPY (SELECT concat(['${GTINS.join("','")}'][1 + i % ${GTINS.length}],
      upper(substr(md5(i::VARCHAR), 1, 13))) AS sgtin, concat('0000000010', lpad((i % 50)::VARCHAR, 4, '0')) AS branch,
      concat('S', i % 400) AS lot, DATE '2027-12-31' AS exp_date FROM range(${rows}) t(i))
    TO ${quoted(path)} (FORMAT csv, DELIMITER ';')`);

const rounded = (value: number): number => Math.round(value * 100) / 100;
