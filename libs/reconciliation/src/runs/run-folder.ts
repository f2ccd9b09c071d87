import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { PlannedTask } from '#domain';
import type { Actor } from '#event-store';
import { PedigreeError, type Clock, type Sha256 } from '#kernel';
import type { Pool, Transaction } from '#postgres';
import type { SegmentSettings } from '#segments';
import { writeDurably } from '#service';
import { pathFrom } from '../comparison/run-record.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import type { FetchWay, RegistryFetch } from '../fetches/fetch.js';
import type { Mapping } from '../snapshots/mapping.js';
import type { IncrementalLimits } from './incremental-limits.js';

/** `request.json` of a run: all that it was asked for, so that it can go on after whatever ended it. */
export interface FileRun {
  runId: string;
  /** A file, or, without mapping and moment, the folder of a snapshot. */
  stock: string;
  /** Of the file: it must have this when it is read. Absent until then where a command names the file. */
  sha256?: Sha256;
  /** When it was last written, where it came by itself. */
  modifiedAt?: string;
  mapping: Mapping | null;
  moment: string | null;
  branch: string | null;
  asOf: string | null;
  account: string | null;
  way: FetchWay;
  /** Rows of the registry that old are good enough to begin with, so that `auto` may take an export. */
  freshHours?: number | null;
  registry: string | null;
  disposals: string | null;
  settings: ComparisonSettings;
  /** It may stand on what an earlier run has read, within these limits; absent or null: all is asked. */
  incremental?: IncrementalLimits | null;
  dryRun: boolean;
  /** A person says that the stock is right, should it be empty or have shrunk below half. */
  confirm?: boolean;
  /** A person says that cases open though `registry` is a file, and nobody asked the registry. */
  unconfirmed?: boolean;
  processes: number;
  reason: string;
}

/** What it finds is not said of now: it tells no cases by itself. */
export const isByEarlierRecord = ({ asOf }: Pick<FileRun, 'asOf'>): boolean => typeof asOf === 'string';

export const FILE_RUN = 'request.json';
export const FETCH_WAYS = ['auto', 'filter', 'list', 'export'] as const;

/** @throws PedigreeError `invalid_parameter` that names the option `--way`. */
export function fetchWayOf(given: string): (typeof FETCH_WAYS)[number] {
  const way = FETCH_WAYS.find((one) => one === given);
  if (way !== undefined) return way;
  throw new PedigreeError('invalid_parameter', `--way: ${given} is none of ${FETCH_WAYS.join(', ')}`, {
    field: '--way',
  });
}

/** Folders of derived files. */
export const runsFolder = (folder: string): string => join(folder, 'runs');
export const snapshotsFolder = (folder: string): string => join(folder, 'snapshots');

/** Folders of runs, or snapshots, that are looked at: 25 runs a day are 10,000 before the first is removed. */
const MOST_NAMES = 1_000_000;

/**
 * Names of what lies in one of these folders; none while it is not there.
 * @throws Error where there is more than is looked at: a part would be taken for the whole.
 */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (names.length > MOST_NAMES) throw new Error(`${folder} has ${names.length} entries, more than ${MOST_NAMES}`);
  return names;
}

/** Snapshots of the file store in which the run lies are named from its folder on, so that the store may move. */
export function writeFileRun(folder: string, run: FileRun): void {
  const own = resolve(folder);
  const kept = withPaths(run, (path) => pathFrom(own, { store: dirname(dirname(own)), path }));
  writeDurably(join(folder, FILE_RUN), JSON.stringify(kept, undefined, 2));
}

const withPaths = (run: FileRun, change: (path: string) => string): FileRun => ({
  ...run,
  stock: change(run.stock),
  registry: run.registry && change(run.registry),
  disposals: run.disposals && change(run.disposals),
});

/** @throws PedigreeError `not_found` when the folder has no such run, or one whose request is damaged. */
export async function readFileRun(folder: string): Promise<FileRun> {
  const file = join(folder, FILE_RUN);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (text === undefined) throw new PedigreeError('not_found', `there is no run here: ${file} is missing`, { file });
  const run = parsed(text);
  if (run !== undefined) return withPaths(run, (path) => resolve(folder, path));
  throw new PedigreeError('not_found', `${file} is damaged, and what the run was asked for is lost: ask for it again`, {
    file,
  });
}

/** Undefined where it is not JSON, or not that of a run. */
function parsed(text: string): FileRun | undefined {
  try {
    const run = Object(JSON.parse(text)) as Partial<FileRun>;
    return typeof run.stock === 'string' && typeof run.reason === 'string' ? (run as FileRun) : undefined;
  } catch {
    return undefined;
  }
}

/** Who makes a run of a file, and where. */
export interface FileRunParts {
  settings: SegmentSettings;
  /** Words about its progress; of a bucket that was done, with how many are done now. */
  say: (text: string, buckets?: { done: number; of: number }) => void;
  /** What the processes of the comparison run; default: the one beside it. */
  program?: string;
}

/** What comes behind the file. */
export interface ComparingParts extends FileRunParts {
  pool: Pool;
  actor: Actor;
  schedule: (tx: Transaction, tasks: PlannedTask[]) => Promise<void>;
  onFetch?: (fetch: RegistryFetch) => void;
  clock?: Pick<Clock, 'wait' | 'now'>;
}
