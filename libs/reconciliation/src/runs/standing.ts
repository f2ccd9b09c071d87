import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Sha256 } from '#kernel';
import { readStates } from '#segments';
import { RESULT_FILE, readRunToDo } from '../comparison/run-record.js';
import type { EarlierRun } from '../fetches/take-over.js';
import { readSnapshot } from '../snapshots/manifest.js';
import type { IncrementalLimits } from './incremental-limits.js';
import { readReading, type Reading } from './reading.js';
import { namesIn, readFileRun, runsFolder, snapshotsFolder, type FileRun } from './run-folder.js';

/** An earlier run that another may stand on. */
export interface Standing {
  run: string;
  reading: Reading;
  earlier: EarlierRun;
  registry: { folder: string; digest: Sha256 };
}

const HOUR_MS = 3_600_000;

export interface Wanted {
  run: FileRun;
  limits: IncrementalLimits;
  /** When the reading begins. */
  at: Date;
  /** Log position of the record. */
  recordAt: bigint;
}

/**
 * The run that began to read last, of those with the same account and way that are whole, are in the log, and know no
 * more of our record. In words, why there is none. A run whose files do not fit their digests is passed over.
 */
export async function standingFor(folder: string, wanted: Wanted): Promise<Standing | string> {
  const { run, limits, at } = wanted;
  const names = (await namesIn(runsFolder(folder))).filter((name) => name !== run.runId);
  const found: { name: string; reading: Reading }[] = [];
  for (const name of names) {
    const reading = await readReading(join(runsFolder(folder), name)).catch(() => undefined);
    if (reading !== undefined && (await isAlike(join(runsFolder(folder), name), run))) found.push({ name, reading });
  }
  found.sort((a, b) => (a.reading.at < b.reading.at ? 1 : -1));
  let why = 'no run has read the registry before with this account and way';
  for (const { name, reading } of found) {
    const isDue = Date.parse(reading.full.at) + limits.fullEveryHours * HOUR_MS <= at.getTime();
    if (isDue) why = `the last run that asked about all began at ${reading.full.at}`;
    const standing = isDue ? undefined : await readStanding(folder, { name, reading, wanted }).catch(() => undefined);
    if (standing !== undefined) return standing;
    if (!isDue) why = `the files of run ${name} are not whole, or it knows more of our record`;
  }
  return why;
}

/** The last container that the run before asked about, of those with the same account; undefined: none asked. */
export async function containersBefore(folder: string, { runId, account }: FileRun): Promise<string | undefined> {
  const names = (await namesIn(runsFolder(folder))).filter((name) => name !== runId);
  let newest: Reading | undefined;
  for (const name of names) {
    const own = join(runsFolder(folder), name);
    const reading = await readReading(own).catch(() => undefined);
    if (reading?.containersThrough === undefined || (newest !== undefined && reading.at <= newest.at)) continue;
    const other = await readFileRun(own).catch(() => undefined);
    if (other?.account === account && !other.dryRun) newest = reading;
  }
  return newest?.containersThrough;
}

/** Whether the run in this folder is whole, and has asked the registry as this one does. */
export async function isAlike(own: string, { account, way }: Pick<FileRun, 'account' | 'way'>): Promise<boolean> {
  const other = await readFileRun(own).catch(() => undefined);
  const isWhole = existsSync(join(own, 'comparison', RESULT_FILE));
  return isWhole && other?.account === account && other.way === way && !other.dryRun && other.registry === null;
}

async function readStanding(
  folder: string,
  { name, reading, wanted }: { name: string; reading: Reading; wanted: Wanted },
): Promise<Standing | undefined> {
  const own = join(runsFolder(folder), name);
  const registry = join(snapshotsFolder(folder), `registry-${name}`);
  const { digest } = await readSnapshot(registry, 'registry');
  const comparison = join(own, 'comparison');
  const { legs } = await readRunToDo(comparison);
  const recordAt = BigInt((await readStates(join(own, 'record'))).at);
  if (digest !== reading.digest || legs.registry?.digest !== digest || recordAt > wanted.recordAt) return undefined;
  return { run: name, reading, earlier: { comparison, legs, recordAt }, registry: { folder: registry, digest } };
}
