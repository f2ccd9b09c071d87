import { spawn } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SOFTWARE_VERSION } from '#event-store';
import { canonicalJson, defined, PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { writeDurably } from '#service';
import { readStatesToCompare, refuseOldFiles } from './old-files.js';
import { refusedDigest } from './refused-rows.js';
import { BUCKETS, bucketFiles, isOfFile, readSnapshot, type SnapshotManifest } from '../snapshots/manifest.js';
import {
  findingsFile,
  inputsDigest,
  keptRun,
  readBucketResult,
  readRun,
  readRunToDo,
  RESULT_FILE,
  RULES_DIGEST,
  RUN_FILE,
  unseenCodes,
  type LearntAfter,
  type LegInput,
  type RunRecord,
  type StandsOn,
} from './run-record.js';
import type { Leg } from './rules.js';
import type { ComparisonSettings } from './settings.js';

export interface ComparisonRequest {
  /** Folders of a stock snapshot, of states of packs, and of a registry snapshot; at least two. */
  stock?: string;
  record?: string;
  registry?: string;
  /** Folder of a snapshot of the ERP's disposals, beside two others. */
  disposals?: string;
  /** Folder of a snapshot of documents of ours without a good end, beside two others. */
  documents?: string;
  settings: ComparisonSettings;
  /** Of the registry's side. */
  standsOn?: StandsOn;
  learntAfter?: LearntAfter;
  /** Default: the moment of the stock, or else of the registry's answers. */
  moment?: string;
}

/** `result.json`: what a run found. */
export interface ComparisonResult {
  inputs: Sha256;
  moment: string;
  findings: number;
  counts: Record<string, number>;
  quieted: Record<string, number>;
  /** Codes that could not be told, because a leg is absent. */
  unseen: string[];
  /** The registry was asked by name alone: packs that only it has were not looked for. */
  namedOnly?: true;
  /** Over inputs and buckets. */
  digest: Sha256;
  buckets: { file: string; findings: number; sha256: Sha256 }[];
}

/**
 * Writes the record of a run into its folder, or reads the one that is there. `store`: the folder of derived files.
 * @throws PedigreeError `invalid_parameter` for fewer than two legs, or a folder that has a run of other inputs;
 * `not_found` for files of a version before.
 */
export async function openComparison(
  folder: string,
  request: ComparisonRequest,
  store = resolve(folder),
): Promise<RunRecord> {
  const run = await runOf(request);
  await refuseOldFiles(run.legs);
  await mkdir(folder, { recursive: true });
  const there = await readdir(folder);
  if (there.includes(RUN_FILE)) {
    const before = await readRunToDo(folder);
    // One that an older version began, which did not record its rules, goes on as it is.
    const { rules: _, ...withoutRules } = run;
    const asBefore = before.rules === undefined ? withoutRules : run;
    if (before.inputs === inputsDigest(asBefore)) return before;
    throw new PedigreeError('invalid_parameter', `${folder} has a run of other inputs: give another folder`, {});
  }
  // What a process left that was killed while it wrote the record is no run, and stands in nobody's way.
  if (there.some((name) => !name.startsWith(`${RUN_FILE}.`)))
    throw new PedigreeError('invalid_parameter', `${folder} is not empty`, { file: folder });
  writeDurably(join(folder, RUN_FILE), JSON.stringify(keptRun(run, { folder: resolve(folder), store }), undefined, 2));
  return run;
}

/** What a comparison of these sides hangs on. */
export async function runOf(request: ComparisonRequest): Promise<RunRecord> {
  const { settings, moment, standsOn, learntAfter, ...folders } = request;
  const { legs, shelf, pinned, unconfirmed, namedOnly } = await legsOf(folders);
  const at = moment ?? pinned;
  if (Object.keys(legs).filter((leg) => leg !== 'disposals' && leg !== 'documents').length < 2)
    throw new PedigreeError('invalid_parameter', 'a comparison takes two of stock, record and registry at least', {});
  if (at === undefined || Number.isNaN(Date.parse(at)))
    throw new PedigreeError('invalid_parameter', `${at ?? 'nothing'} is not a moment`, { field: 'moment' });
  const run: Omit<RunRecord, 'inputs'> = {
    ...{
      format: 1,
      moment: new Date(at).toISOString(),
      settings,
      rules: RULES_DIGEST,
      version: SOFTWARE_VERSION,
      legs,
      places: shelf?.places ?? null,
    },
    ...defined({ standsOn, learntAfter, unconfirmed, namedOnly }),
    wrongCheckDigits: isSome(shelf?.wrongCheckDigits),
    containers: isSome(shelf?.containers),
    unseen: unseenCodes(legs),
  };
  return { ...run, inputs: inputsDigest(run) };
}

const isSome = (count: number | undefined): boolean => count !== undefined && count > 0;

interface Legs {
  legs: RunRecord['legs'];
  shelf?: SnapshotManifest;
  /** Of the stock, or else of the registry's answers. */
  pinned?: string;
  unconfirmed?: true;
  namedOnly?: true;
}

async function legsOf({ stock, record, registry, disposals, documents }: Pick<ComparisonRequest, Leg>): Promise<Legs> {
  const found: Legs = { legs: {} };
  if (disposals !== undefined) found.legs.disposals = inputOf(disposals, await readSnapshot(disposals, 'disposals'));
  if (documents !== undefined) found.legs.documents = inputOf(documents, await readSnapshot(documents, 'documents'));
  if (registry !== undefined) {
    const answers = await readSnapshot(registry, 'registry');
    found.legs.registry = inputOf(registry, answers);
    found.pinned = answers.moment;
    if (isOfFile(answers)) found.unconfirmed = true;
    if (answers.namedOnly === true) found.namedOnly = true;
  }
  if (stock !== undefined) {
    found.shelf = await readSnapshot(stock, 'stock');
    found.legs.stock = { ...inputOf(stock, found.shelf), ...defined({ refused: await refusedDigest(stock) }) };
    found.pinned = found.shelf.moment;
  }
  if (record !== undefined) found.legs.record = await recordInput(record);
  return found;
}

const inputOf = (folder: string, { digest, rows }: SnapshotManifest): LegInput => ({
  ...{ folder: resolve(folder), digest, rows },
  files: bucketFiles(resolve(folder)),
});

async function recordInput(folder: string): Promise<LegInput> {
  const { digest, packs, buckets } = await readStatesToCompare(folder);
  if (buckets.length !== BUCKETS)
    throw new PedigreeError('not_found', `${folder} has ${buckets.length} buckets, and ${BUCKETS} are compared`, {});
  return { folder: resolve(folder), digest, rows: packs, files: buckets.map(({ file }) => resolve(folder, file)) };
}

export interface ChildOptions {
  memoryMb: number;
  threads: number;
  /** Processes at a time. */
  processes: number;
  /** What Node runs; default: child.js beside this file. */
  program?: string;
  onBucket?: (bucket: number) => void;
  onProcess?: (pid: number) => void;
}

/** Processes that may die before the run is given up; what they had done stays. */
const MOST_DEATHS = 3;

/** Has all buckets done by processes of their own. Returns the most memory that one of them had. */
export async function runComparison(folder: string, options: ChildOptions): Promise<{ peakMb: number }> {
  let [peakMb, deaths, last] = [0, 0, ''];
  while ((await missingBuckets(folder)).length > 0) {
    if (deaths > MOST_DEATHS) throw new Error(`processes of the comparison die: ${last}`);
    const ends = await Promise.all(Array.from({ length: options.processes }, () => child(folder, options)));
    for (const end of ends) {
      peakMb = Math.max(peakMb, end.peakMb);
      if (end.failure === undefined) continue;
      [deaths, last] = [deaths + 1, end.failure];
    }
  }
  await rm(join(folder, 'work'), { recursive: true, force: true });
  await rm(join(folder, 'claims'), { recursive: true, force: true });
  return { peakMb };
}

/** Buckets that are not done yet. */
export async function missingBuckets(folder: string): Promise<number[]> {
  const all = [...Array(BUCKETS).keys()];
  const results = await Promise.all(all.map((bucket) => readBucketResult(folder, bucket)));
  return all.filter((bucket) => results[bucket] === undefined);
}

const PROGRAM = new URL('./child.js', import.meta.url).pathname;
const MOST_WORDS = 4_000;

function child(
  folder: string,
  { memoryMb, threads, program = PROGRAM, onBucket, onProcess }: ChildOptions,
): Promise<{ peakMb: number; failure?: string }> {
  return new Promise((settle, reject) => {
    const started = spawn(process.execPath, [program, folder, String(memoryMb), String(threads)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [words, peakMb, rest] = ['', 0, ''];
    if (started.pid !== undefined) onProcess?.(started.pid);
    started.once('error', reject);
    started.stderr.on('data', (text) => (words = (words + String(text)).slice(-MOST_WORDS)));
    started.stdout.on('data', (text) => {
      const lines = (rest + String(text)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const told = JSON.parse(line) as { bucket?: number; peakMb?: number };
        if (told.bucket !== undefined) onBucket?.(told.bucket);
        peakMb = told.peakMb ?? peakMb;
      }
    });
    started.once('close', (status, signal) =>
      settle(status === 0 ? { peakMb } : { peakMb, failure: `${signal ?? `status ${status}`} ${words.trim()}` }),
    );
  });
}

/**
 * Puts the buckets of a run together, and writes what it found.
 * @throws PedigreeError `not_found` when a bucket is not done.
 */
export async function resultOf(folder: string): Promise<ComparisonResult> {
  const { inputs, moment, unseen, namedOnly } = await readRun(folder);
  const counts: Record<string, number> = {};
  const quieted: Record<string, number> = {};
  const buckets: ComparisonResult['buckets'] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const done = await readBucketResult(folder, bucket);
    if (done === undefined)
      throw new PedigreeError('not_found', `bucket ${bucket.toString(16)} of ${folder} is not done`);
    add(counts, done.counts);
    add(quieted, done.quieted);
    buckets.push({ file: findingsFile(bucket), findings: done.findings, sha256: done.sha256 });
  }
  const lines = buckets.map(({ findings, sha256 }, bucket) => `${bucket.toString(16)} ${findings} ${sha256}\n`);
  const result: ComparisonResult = {
    ...{ inputs, moment, findings: buckets.reduce((sum, one) => sum + one.findings, 0) },
    ...defined({ namedOnly }),
    ...{ counts, quieted, unseen, digest: sha256Hex(canonicalJson({ inputs }) + lines.join('')), buckets },
  };
  writeDurably(join(folder, RESULT_FILE), JSON.stringify(result, undefined, 2));
  return result;
}

function add(sum: Record<string, number>, more: Record<string, number>): void {
  for (const [name, n] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + n;
}
