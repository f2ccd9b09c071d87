import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { typeKnowledge } from '#documents';
import { FolderStore } from '#duckdb';
import { defined, PedigreeError } from '#kernel';
import { readStates, segmentParts, STATES_FILE, statesAt } from '#segments';
import { writeDurably } from '#service';
import { readStatesToCompare } from '../comparison/old-files.js';
import {
  missingBuckets,
  openComparison,
  resultOf,
  runComparison,
  type ComparisonRequest,
  type ComparisonResult,
} from '../comparison/run-comparison.js';
import { readRun, type LearntAfter } from '../comparison/run-record.js';
import { writeDocumentSide } from '../document-side/write-documents.js';
import { BUCKETS, MANIFEST, readSnapshot } from '../snapshots/manifest.js';
import { snapshotOfFile } from '../snapshots/of-file.js';
import { firstLearntAfter, oldestMoment } from './learnt-after.js';
import type { PackRun } from './pack-run.js';
import { registryReading } from './registry-reading.js';
import {
  runsFolder,
  snapshotsFolder,
  writeFileRun,
  type ComparingParts,
  type FileRun,
  type FileRunParts,
} from './run-folder.js';

/**
 * The snapshot of the run's stock, made where it is not there yet. Returns its folder. The run's request names its
 * bytes from then on, so that whoever goes on with it needs the file no more.
 */
export async function stockSide({ settings, say }: FileRunParts, run: FileRun): Promise<string> {
  const { stock, mapping, moment, branch, sha256, confirm } = run;
  if (mapping === null || moment === null) return stock;
  const { memoryMb, threads } = settings;
  const made = await snapshotOfFile(
    snapshotsFolder(settings.folder),
    { kind: 'stock', file: stock, mapping, moment, ...defined({ branch: branch ?? undefined, confirm, sha256 }) },
    { duck: { memoryMb, threads }, say },
  );
  if (sha256 !== undefined && made.source.sha256 !== sha256) {
    rmSync(made.folder, { recursive: true, force: true });
    throw new PedigreeError('invalid_parameter', `${stock} was changed before it was read`, { file: stock });
  }
  if (sha256 === undefined)
    writeFileRun(join(runsFolder(settings.folder), run.runId), { ...run, sha256: made.source.sha256 });
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
  const record = await recordSide(parts, own, run.asOf);
  const documents = await documentSide(parts, { folder: join(own, 'documents'), stock, record });
  const { registry, reading } = await registryReading(parts, { run, stock, record, documents });
  const folder = join(own, 'comparison');
  const disposals = run.disposals ?? undefined;
  const learntAfter = await firstLearnt(parts, {
    answers: reading === undefined ? registry : undefined,
    stock,
    record,
  });
  const sides = defined({ stock, record, registry, disposals, documents, learntAfter, standsOn: reading?.standsOn });
  const result = await compareIn(parts, { ...sides, settings: run.settings }, { folder, processes: run.processes });
  const recordAt = (await readStates(record)).at;
  return {
    folder,
    run: await readRun(folder),
    result,
    calls: reading?.calls ?? 0,
    reading,
    recordAt,
    stockConfirmed: (await readSnapshot(stock, 'stock')).confirmed === true,
  };
}

/**
 * From where on our record is younger than the other sides. Answers that were read for the run are younger than it:
 * only those of a snapshot that was given, and that nobody has confirmed, may be older.
 */
async function firstLearnt(
  { pool, settings: { memoryMb, threads, folder } }: ComparingParts,
  { answers, stock, record }: { answers: string | undefined; stock: string; record: string },
): Promise<LearntAfter | undefined> {
  const at = BigInt((await readStates(record)).at);
  const since = (moment: string): Promise<string | undefined> => firstLearntAfter(pool, { moment, at });
  const temporary = join(folder, 'temporary-moments');
  const oldest = answers && (await oldestMoment(answers, { memoryMb, threads, temporary }));
  const learnt = defined({
    stock: await since((await readSnapshot(stock, 'stock')).moment),
    registry: oldest && (await since(oldest)),
  });
  return Object.keys(learnt).length === 0 ? undefined : learnt;
}

/** Compares snapshots in a folder, or goes on with what was begun there. */
export async function compareIn(
  { settings: { memoryMb, threads, folder: store }, say, program }: FileRunParts,
  request: ComparisonRequest,
  { folder, processes }: { folder: string; processes: number },
): Promise<ComparisonResult> {
  await openComparison(folder, request, resolve(store));
  let done = BUCKETS - (await missingBuckets(folder)).length;
  await runComparison(folder, {
    ...{ memoryMb, threads, processes },
    ...defined({ program }),
    onBucket: (bucket) => say(`bucket ${bucket.toString(16)}`, { done: (done += 1), of: BUCKETS }),
  });
  return resultOf(folder);
}

/**
 * States of all packs at the pinned position. They appear whole: of two that make them at once, as of two positions,
 * one takes what the other has made. No run goes on with what another version has left there.
 */
async function recordSide(parts: ComparingParts, own: string, asOf: string | null): Promise<string> {
  const folder = join(own, RECORD);
  const isThere = (): boolean => existsSync(join(folder, STATES_FILE));
  if (!isThere())
    await makeRecord(parts, own, asOf).catch((error: unknown) => {
      if (isThere()) return;
      // What a run of an earlier version has left half made is in nobody's way the next time.
      rmSync(folder, { recursive: true, force: true });
      throw error;
    });
  await readStatesToCompare(folder);
  return folder;
}

const RECORD = 'record';

async function makeRecord({ settings, pool, say }: ComparingParts, own: string, asOf: string | null): Promise<void> {
  const store = new FolderStore(own);
  const draft = await store.draft(RECORD);
  const parts = segmentParts(pool, settings);
  const duck = { ...parts.duck, temporary: join(settings.folder, 'temporary-states') };
  const at = asOf === null ? {} : { at: BigInt(asOf) };
  try {
    const states = await statesAt({ ...parts, duck }, { ...at, out: draft, types: typeKnowledge });
    writeDurably(join(draft, STATES_FILE), JSON.stringify(states));
    await store.keep(RECORD, draft, { isNew: true });
    say(`our record: ${states.packs} packs as known at position ${states.at}`);
  } finally {
    // What is kept is there no more.
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Documents without a good end, as known at the position of our record. */
async function documentSide(
  { settings: { memoryMb, threads }, pool, say, clock }: ComparingParts,
  { folder, stock, record }: { folder: string; stock: string; record: string },
): Promise<string> {
  if (existsSync(join(folder, MANIFEST))) return folder;
  const { moment } = await readSnapshot(stock, 'stock');
  const at = BigInt((await readStates(record)).at);
  const { rows } = await writeDocumentSide({ pool, at, moment, out: folder, duck: { memoryMb, threads }, clock });
  say(`our documents: ${rows} items are named by one that has no good end`);
  return folder;
}
