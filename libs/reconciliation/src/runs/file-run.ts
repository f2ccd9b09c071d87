import { existsSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import type { PlannedTask } from '#domain';
import type { Actor } from '#event-store';
import { defined, PedigreeError, type Clock, type Sha256 } from '#kernel';
import type { Pool, Transaction } from '#postgres';
import { readStates, segmentParts, STATES_FILE, statesAt, type SegmentSettings } from '#segments';
import { writeDurably } from '#service';
import {
  openComparison,
  resultOf,
  runComparison,
  type ComparisonRequest,
  type ComparisonResult,
} from '../comparison/run-comparison.js';
import { readRun } from '../comparison/run-record.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import type { FetchWay, RegistryFetch } from '../fetches/fetch.js';
import { writeDocumentSide } from '../document-side/write-documents.js';
import { fetchRegistrySide } from '../fetches/registry-side.js';
import { MANIFEST, readSnapshot } from '../snapshots/manifest.js';
import type { Mapping } from '../snapshots/mapping.js';
import { snapshotOfFile } from '../snapshots/of-file.js';
import type { PackRun } from './pack-run.js';

/** `request.json` of a run: all that it was asked for, so that it can go on after whatever ended it. */
export interface FileRun {
  runId: string;
  /** A file, or, without mapping and moment, the folder of a snapshot. */
  stock: string;
  /** Of the file, where others may change it: it must have this when it is read. */
  sha256?: Sha256;
  mapping: Mapping | null;
  moment: string | null;
  branch: string | null;
  asOf: string | null;
  account: string | null;
  way: FetchWay;
  registry: string | null;
  disposals: string | null;
  settings: ComparisonSettings;
  dryRun: boolean;
  processes: number;
  reason: string;
}

export const FILE_RUN = 'request.json';
export const FETCH_WAYS: readonly string[] = ['auto', 'filter', 'list'];

/** Folders of derived files. */
export const runsFolder = (folder: string): string => join(folder, 'runs');
export const snapshotsFolder = (folder: string): string => join(folder, 'snapshots');

export const writeFileRun = (folder: string, run: FileRun): void =>
  writeDurably(join(folder, FILE_RUN), JSON.stringify(run, undefined, 2));

/** @throws PedigreeError `not_found` when the folder has no such run. */
export async function readFileRun(folder: string): Promise<FileRun> {
  const file = join(folder, FILE_RUN);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) throw new PedigreeError('not_found', `there is no run here: ${file} is missing`, { file });
  return JSON.parse(text) as FileRun;
}

/** Who makes a run of a file, and where. */
export interface FileRunParts {
  settings: SegmentSettings;
  /** Words about its progress. */
  say: (text: string) => void;
  /** What the processes of the comparison run; default: the one beside it. */
  program?: string;
}

/** What comes behind the file. */
export interface ComparingParts extends FileRunParts {
  pool: Pool;
  actor: Actor;
  schedule: (tx: Transaction, tasks: PlannedTask[]) => Promise<void>;
  onFetch?: (fetch: RegistryFetch) => void;
  clock?: Pick<Clock, 'wait'>;
}

/** The snapshot of the run's stock, made where it is not there yet. Returns its folder. */
export async function stockSide({ settings, say }: FileRunParts, run: FileRun): Promise<string> {
  const { stock, mapping, moment, branch, sha256 } = run;
  if (mapping === null || moment === null) return stock;
  const { memoryMb, threads } = settings;
  const made = await snapshotOfFile(
    snapshotsFolder(settings.folder),
    { kind: 'stock', file: stock, mapping, moment, ...defined({ branch: branch ?? undefined }) },
    { duck: { memoryMb, threads }, say },
  );
  if (sha256 !== undefined && made.source.sha256 !== sha256) {
    rmSync(made.folder, { recursive: true, force: true });
    throw new PedigreeError('invalid_parameter', `${stock} was changed before it was read`, { file: stock });
  }
  if (made.refused + made.duplicates > 0)
    say(`${made.refused} rows of the stock were refused, ${made.duplicates} items stand there twice: ${made.folder}`);
  return made.folder;
}

/** Compares the stock with our record and the registry. What is done is not done again. */
export async function compareFile(
  parts: ComparingParts,
  run: FileRun,
  stock: string,
): Promise<PackRun & { folder: string }> {
  const own = join(runsFolder(parts.settings.folder), run.runId);
  const record = await recordSide(parts, { folder: join(own, 'record'), asOf: run.asOf });
  const registry = await registryOf(parts, { run, stock, record });
  const folder = join(own, 'comparison');
  const documents = await documentSide(parts, { folder: join(own, 'documents'), stock, record });
  const disposals = run.disposals ?? undefined;
  const sides = defined({ stock, record, registry: registry.folder, disposals, documents });
  const result = await compareIn(parts, { ...sides, settings: run.settings }, { folder, processes: run.processes });
  const recordAt = (await readStates(record)).at;
  return { folder, run: await readRun(folder), result, calls: registry.calls, recordAt };
}

/** Compares snapshots in a folder, or goes on with what was begun there. */
export async function compareIn(
  { settings: { memoryMb, threads }, say, program }: FileRunParts,
  request: ComparisonRequest,
  { folder, processes }: { folder: string; processes: number },
): Promise<ComparisonResult> {
  await openComparison(folder, request);
  await runComparison(folder, {
    ...{ memoryMb, threads, processes },
    ...defined({ program }),
    onBucket: (bucket) => say(`bucket ${bucket.toString(16)}`),
  });
  return resultOf(folder);
}

/** States of all packs at the pinned position. A folder without its manifest is of a run that ended in between. */
async function recordSide(
  { settings, pool, say }: ComparingParts,
  { folder, asOf }: { folder: string; asOf: string | null },
): Promise<string> {
  if (existsSync(join(folder, STATES_FILE))) return folder;
  rmSync(folder, { recursive: true, force: true });
  const parts = segmentParts(pool, settings);
  const duck = { ...parts.duck, temporary: join(settings.folder, 'temporary-states') };
  const at = asOf === null ? {} : { at: BigInt(asOf) };
  const states = await statesAt({ ...parts, duck }, { ...at, out: folder, types: typeKnowledge });
  writeDurably(join(folder, STATES_FILE), JSON.stringify(states));
  say(`our record: ${states.packs} packs as known at position ${states.at}`);
  return folder;
}

/** Documents without a good end, as known at the position of our record. */
async function documentSide(
  { settings: { memoryMb, threads }, pool, say }: ComparingParts,
  { folder, stock, record }: { folder: string; stock: string; record: string },
): Promise<string> {
  if (existsSync(join(folder, MANIFEST))) return folder;
  const { moment } = await readSnapshot(stock, 'stock');
  const at = BigInt((await readStates(record)).at);
  const { rows } = await writeDocumentSide({ pool, at, moment, out: folder, duck: { memoryMb, threads } });
  say(`our documents: ${rows} items are named by one that has no good end`);
  return folder;
}

async function registryOf(
  { settings, pool, actor, schedule, onFetch, clock }: ComparingParts,
  { run, stock, record }: { run: FileRun; stock: string; record: string },
): Promise<{ folder: string | undefined; calls: number }> {
  if (run.registry !== null) return { folder: run.registry, calls: 0 };
  if (run.account === null) return { folder: undefined, calls: 0 };
  const folder = join(snapshotsFolder(settings.folder), `registry-${run.runId}`);
  const { runId, account, way, reason } = run;
  const { memoryMb, threads } = settings;
  const expected = (await readStates(record)).packs;
  const of = { stock, record, disposals: run.disposals ?? undefined };
  const { calls } = await fetchRegistrySide(
    { fetchId: runId, account, way, reason, actor, expected, of, out: folder },
    { pool, duck: { memoryMb, threads }, schedule, ...defined({ onProgress: onFetch, clock }) },
  );
  return { folder, calls };
}
