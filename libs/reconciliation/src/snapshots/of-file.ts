import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { digestOfFile, type DuckOptions } from '#duckdb';
import { canonicalJson, defined, PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { importSnapshot } from './import.js';
import type { SnapshotKind } from './kinds.js';
import { readSnapshot, type SnapshotManifest } from './manifest.js';
import type { Mapping } from './mapping.js';

/** A file that is to become a snapshot. */
export interface FileAsked {
  kind: SnapshotKind;
  file: string;
  mapping: Mapping;
  moment: string;
  branch?: string;
  confirm?: boolean;
  /** What its bytes have to be; absent: whatever it is. */
  sha256?: Sha256 | undefined;
}

export interface FileImport {
  duck: Omit<DuckOptions, 'temporary'>;
  say: (text: string) => void;
}

/** Rows between two lines of progress. */
const SAY_EVERY = 1_000_000;

/** Makes a snapshot in the folder `out`. */
export function importFile(
  { kind, file, mapping, moment, branch, confirm, out }: FileAsked & { out: string },
  { duck, say }: FileImport,
): Promise<SnapshotManifest> {
  let told = 0;
  const onProgress = ({ rows, part }: { rows: number; part: number }): void => {
    if (rows - told < SAY_EVERY) return;
    told = rows;
    say(`${rows} rows, ${Math.floor(100 * part)} %`);
  };
  return importSnapshot({
    ...{ kind, path: resolve(file), mapping, moment, out, duck, onProgress },
    ...defined({ branch, confirmed: confirm }),
  });
}

/**
 * The snapshot of a file, which is made where it is not there yet. One that is of the bytes that are wanted is taken
 * whatever became of the file since: the next one may stand in its place. Of two that make it at once one takes what
 * the other has made.
 * @throws PedigreeError `invalid_parameter` when the one that is there is of other bytes under the same name.
 */
export async function snapshotOfFile(
  snapshots: string,
  asked: FileAsked,
  options: FileImport,
): Promise<SnapshotManifest & { folder: string }> {
  const folder = snapshotFolder(snapshots, asked);
  if (!existsSync(folder))
    try {
      return { ...(await importFile({ ...asked, out: folder }, options)), folder };
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  const there = await readSnapshot(folder, asked.kind);
  const wanted = asked.sha256 ?? (await digestOfFile(resolve(asked.file))).sha256;
  if (there.source.sha256 === wanted) return { ...there, folder };
  throw new PedigreeError(
    'invalid_parameter',
    `${asked.file} was changed since it was imported for the same moment: give another --moment`,
    { file: asked.file, field: '--moment' },
  );
}

/** The same file, mapping and moment have the same name, so that an import that broke off leaves nothing behind. */
export function snapshotFolder(snapshots: string, { kind, file, mapping, moment, branch }: FileAsked): string {
  const at = moment.replace(/[^0-9TZ+-]/g, '').slice(0, 30);
  const rest = sha256Hex(canonicalJson([resolve(file), canonicalJson(mapping), moment, branch ?? null])).slice(0, 8);
  const name = basename(file)
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 40);
  return join(snapshots, `${kind}-${at}-${name}-${rest}`);
}
