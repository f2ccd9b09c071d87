import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import { Duck, parquet } from '#duckdb';
import { BUCKETS, foldStates, inBucket, type States } from '#segments';
import { thisMachine, type BenchReport } from './report.js';
import { makeSegments, type Made } from './state-lives.js';

const LIMIT_MB = 700;
const THREADS = 2;
const SAMPLE_MS = 50;

/**
 * The state of so many packs, with six movements each, from segments; beside it DuckDB's bare arg_max over the same
 * files, by the same 16 buckets, under the same limits, which writes its answer, too.
 */
export async function state({ quick, packs }: { quick: boolean; packs?: number }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const count = packs ?? (quick ? 200_000 : 10_000_000);
  const open = (): Promise<Duck> =>
    Duck.open({ memoryMb: LIMIT_MB, threads: THREADS, temporary: join(folder, 'temporary') });
  const withDuck = async <T>(work: (duck: Duck) => Promise<T>): Promise<T> => {
    const duck = await open();
    try {
      return await work(duck);
    } finally {
      await duck.close();
    }
  };
  try {
    const made = await withDuck((duck) => makeSegments(duck, { folder, packs: count }));
    const before = await measured(() => withDuck((duck) => bare(duck, made, folder)));
    const fold = await measured(() => withDuck((duck) => foldAll(duck, made, join(folder, 'states'))));
    const after = await measured(() => withDuck((duck) => bare(duck, made, folder)));
    if (fold.value.packs !== count) throw new Error(`${fold.value.packs} packs have a state, and there are ${count}`);
    return reportOf({ packs: count, movements: made.rows, before, fold, after });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Timed = Pick<Awaited<ReturnType<typeof measured>>, 'seconds' | 'cpuSeconds' | 'peakMb'>;

/** The bare ones ran before and after. */
function reportOf({
  packs,
  movements,
  before,
  fold,
  after,
}: Counts & Record<'before' | 'fold' | 'after', Timed>): BenchReport {
  const bareSeconds = (before.seconds + after.seconds) / 2;
  return {
    bench: 'state',
    figures: {
      packs,
      movements,
      seconds: fold.seconds,
      cpu_seconds: fold.cpuSeconds,
      peak_mb: fold.peakMb,
    },
    ceilings: {
      bare_seconds: bareSeconds,
      bare_cpu_seconds: (before.cpuSeconds + after.cpuSeconds) / 2,
      bare_peak_mb: Math.max(before.peakMb, after.peakMb),
      goal_peak_mb: 1_500,
    },
    ratios: {
      of_bare_fold: rounded(fold.seconds / bareSeconds),
      of_bare_fold_cpu: rounded((2 * fold.cpuSeconds) / (before.cpuSeconds + after.cpuSeconds)),
      goal_of_bare_fold: 2.5,
    },
    machine: thisMachine(),
  };
}

interface Counts {
  packs: number;
  movements: number;
}

const foldAll = (duck: Duck, { movements, head }: Made, out: string): Promise<States> =>
  foldStates(duck, { movements, at: head, types: typeKnowledge, out });

async function bare(duck: Duck, { movements }: Made, folder: string): Promise<void> {
  for (let bucket = 0; bucket < BUCKETS; bucket += 1)
    await duck.run(`COPY (SELECT item, arg_max(effect, known_from) AS effect FROM ${parquet(movements.packs)} x
      WHERE ${inBucket(bucket)} GROUP BY item) TO '${join(folder, 'bare.parquet')}' (FORMAT parquet)`);
}

interface Measured<T> {
  value: T;
  seconds: number;
  cpuSeconds: number;
  peakMb: number;
}

/** Wall and processor time of some work, and the most memory that the process had meanwhile. */
async function measured<T>(work: () => Promise<T>): Promise<Measured<T>> {
  let peak = process.memoryUsage.rss();
  const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_MS);
  const [begun, cpu] = [performance.now(), process.cpuUsage()];
  try {
    const value = await work();
    const { user, system } = process.cpuUsage(cpu);
    return {
      value,
      seconds: rounded((performance.now() - begun) / 1_000),
      cpuSeconds: rounded((user + system) / 1e6),
      peakMb: Math.round(peak / 2 ** 20),
    };
  } finally {
    clearInterval(sampling);
  }
}

const rounded = (n: number): number => Math.round(n * 100) / 100;
