import { join } from 'node:path';
import type { EventStore } from '#event-store';
import { uuid5 } from '#kernel';
import type { Pool } from '#postgres';
import { findRun, momentOfUpload, readFileRun, type FileRun } from '#reconciliation';
import type { StockRuns } from './config.js';
import type { SettledFile } from './stock-folder.js';

/** Runs of the same bytes that have failed, one behind the other. */
const MOST_AGAIN = 100;

/**
 * The same bytes are one run for ever, whatever the file is called; where the sender of an upload has said a moment,
 * one for each moment.
 */
export function stockRunId(installation: string, { name, sha256 }: Pick<SettledFile, 'name' | 'sha256'>): string {
  const moment = momentOfUpload(name, sha256);
  return uuid5(`stock-file:${sha256}${moment === undefined ? '' : `:${moment}`}`, installation);
}

/**
 * The run that a file is to have. Where the run of its bytes has failed, and the file was written or touched since, it
 * has another one: what was wrong may have been its time, a file that changed under the run, a mapping. `later`: its
 * run is not over.
 */
export async function runOfWrite(
  { pool, store, installation, runs }: { pool: Pool; store: EventStore; installation: { id: string }; runs: string },
  file: SettledFile,
): Promise<{ runId: string } | 'had its run' | 'later'> {
  let runId = stockRunId(installation.id, file);
  for (let again = 0; again < MOST_AGAIN; again += 1) {
    const there = await findRun(pool, store, runId);
    if (there === undefined) return { runId };
    if (there.state === 'completed' || !(await isAnotherWrite(file, join(runs, runId), there))) return 'had its run';
    if (there.state !== 'failed') return 'later';
    runId = uuid5(`again:${runId}`, installation.id);
  }
  return 'had its run';
}

/** Where the run does not say of which write it is, or was removed, it is of all that were before it was asked for. */
async function isAnotherWrite(
  { modifiedAt }: SettledFile,
  folder: string,
  { requestedAt }: { requestedAt: Date },
): Promise<boolean> {
  const run = await readFileRun(folder).catch(() => undefined);
  return run?.modifiedAt === undefined ? modifiedAt > requestedAt : run.modifiedAt !== modifiedAt.toISOString();
}

/** What the run of a file is asked for. */
export function fileRunOf(
  { name, path, sha256, modifiedAt }: SettledFile,
  { runId, stock }: { runId: string; stock: StockRuns },
): FileRun {
  const { mapping, account, way, settings, freshHours, incremental } = stock;
  const wroteAt = modifiedAt.toISOString();
  return {
    ...{ runId, stock: path, sha256, modifiedAt: wroteAt, mapping },
    ...{ moment: momentOfUpload(name, sha256) ?? wroteAt, branch: null, asOf: null },
    ...{ account, way, registry: null, disposals: null, settings, freshHours, incremental },
    ...{ dryRun: false, processes: 1, reason: `the stock file ${name}` },
  };
}
