import { basename, dirname, join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import type { OlderItems } from '#domain';
import { digestOfFile, quoted, type Duck } from '#duckdb';
import { readRun } from '../comparison/run-record.js';
import { namesIn } from '../runs/run-folder.js';

/** Digits of the SHA-256 in a name. */
const DIGITS = 32;
const NAMED_BY_DIGEST = new RegExp(`^items-of-cases-([0-9a-f]{${DIGITS}})\\.parquet$`);
/** Files of earlier versions, whose names tell nothing. The older one had the items of findings alone. */
const UNNAMED_FILE = 'items-of-cases.parquet';
export const OLD_ITEMS_FILE = 'case-items.parquet';
/** In a folder of runs each has a folder with this one in it. */
const COMPARISON = 'comparison';

/**
 * The items of a run's cases, in the order of the cases: a case's items are rows that follow one another. The name is
 * that of the content. So a run that is opened again when more is known writes another file, the rows that cases name
 * stay what they are, and a file is the right one in whichever folder it lies.
 */
export const itemsFileName = (sha256: string): string => `items-of-cases-${sha256.slice(0, DIGITS)}.parquet`;

export const isItemsFile = (name: string): boolean => NAMED_BY_DIGEST.test(name);

/** Folders of runs by the id of the run: two runs with the same inputs have one id. */
export type RunFolders = ReadonlyMap<string, readonly string[]>;

/** Of the runs that lie beside a folder, and of those that are named. */
export async function findEarlierRuns(folder: string, named: readonly string[] = []): Promise<RunFolders> {
  const [own, parent] = [resolve(folder), dirname(resolve(folder))];
  const further = named.map((one) => resolve(one));
  if (basename(own) === COMPARISON) return runsIn(dirname(parent), further);
  return foldersOf([...(await namesIn(parent)).map((name) => join(parent, name)), ...further]);
}

/** Of a folder of runs, and of those that are named. */
export const runsIn = async (runs: string, named: readonly string[] = []): Promise<RunFolders> =>
  foldersOf([...(await namesIn(runs)).map((name) => join(runs, name, COMPARISON)), ...named]);

async function foldersOf(paths: readonly string[]): Promise<RunFolders> {
  const found = new Map<string, string[]>();
  for (const one of new Set(paths)) {
    const record = await readRun(one).catch(() => undefined);
    if (record !== undefined) found.set(record.inputs, [...(found.get(record.inputs) ?? []), one]);
  }
  return found;
}

/** Finds the files in which items of cases stand. */
export class ItemFiles {
  private readonly intact = new Map<string, Promise<boolean>>();

  constructor(
    private readonly duck: Duck,
    private readonly folders: RunFolders,
    private readonly onWarning: (text: string) => void = () => undefined,
  ) {}

  /** Undefined where no folder of the run is at hand, or none has the file whole. */
  async find({ run, rows }: Pick<OlderItems, 'run' | 'rows'>): Promise<string | undefined> {
    const names = rows?.file === undefined ? [UNNAMED_FILE, OLD_ITEMS_FILE] : [rows.file];
    for (const folder of this.folders.get(run) ?? [])
      for (const name of names) if (await this.isIntact(join(folder, name))) return join(folder, name);
    return undefined;
  }

  private isIntact(path: string): Promise<boolean> {
    const known = this.intact.get(path) ?? this.look(path);
    this.intact.set(path, known);
    return known;
  }

  /** What goes wrong for another reason than the file, goes wrong for the caller: the next time it may go well. */
  private async look(path: string): Promise<boolean> {
    if (!existsSync(path)) return false;
    const digest = NAMED_BY_DIGEST.exec(basename(path))?.[1];
    const isWhole =
      digest === undefined ? await isReadable(this.duck, path) : (await digestOfFile(path)).sha256.startsWith(digest);
    if (!isWhole) this.onWarning(`${path} is damaged`);
    return isWhole;
  }
}

/** Its last bytes say where all others are: of these alone, so that nothing but the file can be wrong. */
const isReadable = (duck: Duck, path: string): Promise<boolean> =>
  duck.rows(`SELECT count(*) FROM parquet_file_metadata(${quoted(path)})`).then(
    () => true,
    () => false,
  );
