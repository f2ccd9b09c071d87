import { join } from 'node:path';
import type { Sha256 } from '#kernel';
import { parquet, type Duck } from '#duckdb';
import { looksAtTheSame, readRun, type RunRecord } from '../comparison/run-record.js';
import { namesIn } from '../runs/run-folder.js';
import { findingsFiles } from './findings.js';

/** A run beside others, by the folder of its comparison. */
export interface RunBeside {
  runId: string;
  folder: string;
  moment: string;
  inputs: Sha256;
}

/** What became of findings from one run to the next, by code. */
export interface TrendStep {
  from: RunBeside;
  to: RunBeside;
  changes: { code: string; fresh: number; persisting: number; cleared: number }[];
}

/**
 * Runs in `runs` that end with the one in `folder`, the newest last: of the same places, with the same sides and
 * settings, by the same rules, and whole; and by name alone, or not, as this one. Of several over the same inputs one
 * stands for all.
 */
export async function runsBefore(
  runs: string,
  { runId, record, limit }: { runId: string; record: RunRecord; limit: number },
): Promise<RunBeside[]> {
  const found = new Map<Sha256, RunBeside>();
  for (const name of (await namesIn(runs)).filter((one) => one !== runId)) {
    const folder = join(runs, name, 'comparison');
    const other = await readRun(folder).catch(() => undefined);
    if (other === undefined || other.moment >= record.moment || !looksAtTheSame(other, record)) continue;
    if ((await findingsFiles(folder).catch(() => undefined)) === undefined) continue;
    found.set(other.inputs, { runId: name, folder, moment: other.moment, inputs: other.inputs });
  }
  const sorted = [...found.values()].sort((a, b) => (a.moment < b.moment ? -1 : 1));
  const last = { runId, folder: join(runs, runId, 'comparison'), moment: record.moment, inputs: record.inputs };
  return [...sorted.slice(1 - limit), last];
}

/** Compares two runs by item and code, a bucket at a time: an item lies in the same bucket of both. */
async function stepBetween(duck: Duck, from: RunBeside, to: RunBeside): Promise<TrendStep> {
  const [before, after] = await Promise.all([findingsFiles(from.folder), findingsFiles(to.folder)]);
  const keys = (file: string): string => `(SELECT DISTINCT item, code FROM ${parquet([file])})`;
  const changes = new Map<string, TrendStep['changes'][number]>();
  for (const [bucket, file] of after.entries()) {
    const rows = await duck.rows<{ code: string; fresh: bigint; persisting: bigint; cleared: bigint }>(
      `SELECT coalesce(a.code, b.code) AS code, count(*) FILTER (b.item IS NULL) AS fresh,
         count(*) FILTER (a.item IS NOT NULL AND b.item IS NOT NULL) AS persisting,
         count(*) FILTER (a.item IS NULL) AS cleared
       FROM ${keys(file)} a FULL JOIN ${keys(before[bucket] as string)} b ON a.item = b.item AND a.code = b.code
       GROUP BY ALL`,
    );
    for (const { code, fresh, persisting, cleared } of rows) {
      const sum = changes.get(code) ?? { code, fresh: 0, persisting: 0, cleared: 0 };
      sum.fresh += Number(fresh);
      sum.persisting += Number(persisting);
      sum.cleared += Number(cleared);
      changes.set(code, sum);
    }
  }
  return { from, to, changes: [...changes.values()].sort((a, b) => (a.code < b.code ? -1 : 1)) };
}

/** From run to run. */
export async function trendOf(duck: Duck, runs: readonly RunBeside[]): Promise<TrendStep[]> {
  const steps: TrendStep[] = [];
  for (const [n, to] of runs.entries()) {
    const from = runs[n - 1];
    if (from !== undefined) steps.push(await stepBetween(duck, from, to));
  }
  return steps;
}
