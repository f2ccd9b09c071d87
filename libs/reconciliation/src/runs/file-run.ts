import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { typeKnowledge } from '#documents';
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
import { readRun } from '../comparison/run-record.js';
import { writeDocumentSide } from '../document-side/write-documents.js';
import { BUCKETS, MANIFEST, readSnapshot } from '../snapshots/manifest.js';
import { snapshotOfFile } from '../snapshots/of-file.js';
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
  const record = await recordSide(parts, { folder: join(own, 'record'), asOf: run.asOf });
  const documents = await documentSide(parts, { folder: join(own, 'documents'), stock, record });
  const { registry, reading } = await registryReading(parts, { run, stock, record, documents });
  const folder = join(own, 'comparison');
  const disposals = run.disposals ?? undefined;
  const sides = defined({ stock, record, registry, disposals, documents, standsOn: reading?.standsOn });
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
 * States of all packs at the pinned position. A folder without its manifest is of a run that ended in between. No run
 * goes on with what another version has left there.
 */
async function recordSide(
  { settings, pool, say }: ComparingParts,
  { folder, asOf }: { folder: string; asOf: string | null },
): Promise<string> {
  if (existsSync(join(folder, STATES_FILE))) {
    await readStatesToCompare(folder);
    return folder;
  }
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
