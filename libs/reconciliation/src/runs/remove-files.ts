import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { canonicalJson, type Sha256 } from '#kernel';
import { FolderStore } from '#duckdb';
import type { Queryable } from '#postgres';
import { RESULT_FILE, RUN_FILE, type RunRecord } from '../comparison/run-record.js';
import { ageOf, MANIFEST, readSnapshot } from '../snapshots/manifest.js';
import { FILE_RUN, namesIn, runsFolder, snapshotsFolder } from './run-folder.js';
import { READING_FILE } from './reading.js';
import { noteRemoved } from './request.js';
import { readSchedule, SCHEDULE_FILE } from './schedule.js';

export interface FilesRemoval {
  db: Queryable;
  /** Folder of derived files. */
  folder: string;
  keptDays: number;
  now: Date;
  /** Runs, and snapshots, that are removed at a time; default: 1,000. */
  mostRemoved?: number;
  /** Told of each folder before it goes. */
  onRemove?: (removed: { folder: string; changedAt: Date }) => void;
  /** Told of each damaged file of a run that stays: while there is one, no snapshot goes. */
  onUnclear?: (file: string) => void;
}

/** Runs, and snapshots, that are removed at a time. */
const MOST_REMOVED = 1_000;
const DAY_MS = 86_400_000;

/** What is kept of a run in memory: there may be a hundred thousand. */
interface RunFolder {
  runId: string;
  folder: string;
  changedMs: number;
  /** As far as it was begun. Its inputs are not checked: rules of an earlier version made it perhaps. */
  record: { inputs: Sha256; moment: string; places: string; sides: Sha256[] } | undefined;
  /** Names of snapshots that it rests on, also where rows of its registry side were taken over. */
  snapshots: string[];
  /** Damaged files that would name more of them. */
  unclear: string[];
  isWhole: boolean;
  /** It goes on, or perhaps: of a damaged one nobody can say, nor which case names it. */
  isWaiting: boolean;
}

/**
 * Removes folders of runs and snapshots that have not changed for so many days. These stay: runs that a case which is
 * not resolved names, the newest run and snapshot of each branch, what is under way, and what these rest on. Of what a
 * run that was given up has left half made nothing stays. The caller has seen that the read model has all cases.
 * Returns how many went.
 */
export async function removeRunFiles(removal: FilesRemoval): Promise<number> {
  const { db, folder, keptDays, now, mostRemoved = MOST_REMOVED } = removal;
  // What a crash has left of an earlier removal is no run any more.
  await rm(removedFolder(folder), { recursive: true, force: true });
  const beforeMs = now.getTime() - keptDays * DAY_MS;
  const runs = await runsIn(runsFolder(folder));
  const newest = newestOf(
    runs.filter(({ isWhole }) => isWhole),
    ({ record }) => [record?.places ?? '', record?.moment ?? ''],
  );
  const old = runs.filter((one) => one.changedMs < beforeMs && !one.isWaiting && !newest.has(one));
  const going = (await unnamed(db, old)).slice(0, mostRemoved);
  for (const run of going) {
    await noteRemoved(db, run.runId);
    await remove(removal, run);
  }
  const kept = runs.filter((run) => !going.includes(run));
  const unclear = kept.flatMap((run) => run.unclear);
  for (const file of unclear) removal.onUnclear?.(file);
  const unused = unclear.length > 0 ? [] : await unusedSnapshots(snapshotsFolder(folder), { kept, beforeMs });
  const snapshots = [...unused, ...(await halfMade(snapshotsFolder(folder), beforeMs))].slice(0, mostRemoved);
  for (const one of snapshots) await remove(removal, one);
  return going.length + snapshots.length;
}

const removedFolder = (folder: string): string => join(folder, 'removed');

/** It is gone from its place at once, so that a crash leaves no half of it there. */
async function remove({ folder, onRemove }: FilesRemoval, one: { folder: string; changedMs: number }): Promise<void> {
  onRemove?.({ folder: one.folder, changedAt: new Date(one.changedMs) });
  const away = join(removedFolder(folder), basename(one.folder));
  await mkdir(removedFolder(folder), { recursive: true });
  await rename(one.folder, away).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rm(away, { recursive: true, force: true });
}

async function runsIn(folder: string): Promise<RunFolder[]> {
  const runs: RunFolder[] = [];
  for (const name of (await namesIn(folder)).sort()) {
    const own = join(folder, name);
    // A stray file is no run, and nobody's to remove.
    if (await isFile(own)) continue;
    const parts = ['', FILE_RUN, SCHEDULE_FILE, 'record', 'comparison', join('comparison', RESULT_FILE)];
    const changed = await Promise.all(parts.map((part) => changedMs(join(own, part))));
    const record = await recordIn(own);
    const isDamaged = record === 'damaged';
    runs.push({
      ...{ runId: name, folder: own, changedMs: Math.max(...changed.map((one) => one ?? 0)) },
      ...{ record: isDamaged ? undefined : record, ...(await snapshotsOf(name, own)) },
      ...{ isWhole: changed.at(-1) !== undefined, isWaiting: isDamaged || isWaiting(own) },
    });
  }
  return runs;
}

/** What cannot be read may be of a run that goes on. */
function isWaiting(own: string): boolean {
  try {
    return readSchedule(own)?.ended === null;
  } catch {
    return true;
  }
}

async function recordIn(own: string): Promise<RunFolder['record'] | 'damaged'> {
  const run = await json<Pick<RunRecord, 'inputs' | 'moment' | 'places' | 'legs'>>(join(own, 'comparison', RUN_FILE));
  if (run === undefined) return undefined;
  // What is damaged is JSON of something else perhaps.
  if (run?.legs === undefined) return 'damaged';
  const { inputs, moment, places, legs } = run;
  return { inputs, moment, places: canonicalJson(places), sides: Object.values(legs).map(({ digest }) => digest) };
}

async function snapshotsOf(runId: string, own: string): Promise<Pick<RunFolder, 'snapshots' | 'unclear'>> {
  const [requestFile, readingFile] = [join(own, FILE_RUN), join(own, READING_FILE)];
  const request = understood(REQUEST, await json(requestFile));
  const reading = understood(READING, await json(readingFile));
  return {
    snapshots: [
      // The answers behind rows that were taken over lie where they were read.
      ...[runId, ...(reading?.chain ?? [])].map((id) => `registry-${id}`),
      ...[request?.stock, request?.registry, request?.disposals].flatMap((one) => (one ? basename(one) : [])),
    ],
    unclear: [...(request === null ? [requestFile] : []), ...(reading === null ? [readingFile] : [])],
  };
}

/** What of both names snapshots. */
const REQUEST = z.object({ stock: z.string(), registry: z.string().nullish(), disposals: z.string().nullish() });
const READING = z.object({ chain: z.array(z.string()) });

/** Null for what is damaged: no JSON, or JSON of something else. */
function understood<T>(schema: z.ZodType<T>, read: unknown): T | null | undefined {
  return read === undefined ? undefined : (schema.safeParse(read).data ?? null);
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

const changedMs = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );

/**
 * Undefined where there is none, null where it is damaged. Throws where it is there and cannot be read: what it names
 * would be taken for unnamed.
 */
async function json<T>(file: string): Promise<T | null | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    return undefined;
  });
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

/** Of each group the one that comes last in the order. */
function newestOf<T>(all: readonly T[], keyOf: (one: T) => [group: string, order: string]): Set<T> {
  const newest = new Map<string, { one: T; order: string }>();
  for (const one of all) {
    const [group, order] = keyOf(one);
    const before = newest.get(group);
    if (before === undefined || before.order < order) newest.set(group, { one, order });
  }
  return new Set([...newest.values()].map(({ one }) => one));
}

/** Those that no case names which somebody still has to look at. */
async function unnamed(db: Queryable, runs: readonly RunFolder[]): Promise<RunFolder[]> {
  const inputs = runs.flatMap(({ record }) => record?.inputs ?? []);
  if (inputs.length === 0) return [...runs];
  const { rows } = await db.query<{ run: Sha256 }>(
    `SELECT DISTINCT run FROM reconciliation_case, jsonb_array_elements_text(packs_runs) AS run
     WHERE phase <> 'resolved' AND packs_runs ?| $1::text[]`,
    [inputs],
  );
  const named = new Set(rows.map(({ run }) => run));
  return runs.filter(({ record }) => record === undefined || !named.has(record.inputs));
}

interface SnapshotFolder {
  folder: string;
  changedMs: number;
  digest: Sha256;
  age: string;
  /** Kind, branch and places. */
  of: string;
}

/** Old ones that no run which stays was made of. A run names its sides by digest, wherever they lie. */
async function unusedSnapshots(
  folder: string,
  { kept, beforeMs }: { kept: readonly RunFolder[]; beforeMs: number },
): Promise<SnapshotFolder[]> {
  const found: SnapshotFolder[] = [];
  for (const name of await new FolderStore(folder).sets()) {
    const own = join(folder, name);
    const manifest = await readSnapshot(own).catch(() => undefined);
    if (manifest === undefined) continue;
    const { kind, branch, places, digest } = manifest;
    const of = canonicalJson([kind, branch, places]);
    const changed = (await changedMs(own)) ?? Infinity;
    found.push({ folder: own, changedMs: changed, digest, age: ageOf(manifest), of });
  }
  const digests = new Set(kept.flatMap(({ record }) => record?.sides ?? []));
  const names = new Set(kept.flatMap(({ snapshots }) => snapshots));
  const newest = newestOf(found, ({ of, age }) => [of, age]);
  return found.filter(
    (one) =>
      one.changedMs < beforeMs && !newest.has(one) && !digests.has(one.digest) && !names.has(basename(one.folder)),
  );
}

/** Old folders that became no snapshot: drafts, and what lay beside them. */
async function halfMade(folder: string, beforeMs: number): Promise<{ folder: string; changedMs: number }[]> {
  const found: { folder: string; changedMs: number }[] = [];
  for (const name of (await namesIn(folder)).sort()) {
    const own = join(folder, name);
    const changed = await changedMs(own);
    if (changed === undefined || changed >= beforeMs || !(await isMissing(join(own, MANIFEST)))) continue;
    found.push({ folder: own, changedMs: changed });
  }
  return found;
}

const isMissing = (path: string): Promise<boolean> =>
  stat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
