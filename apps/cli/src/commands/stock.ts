import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { canonicalJson, defined, PedigreeError, sha256Hex } from '#kernel';
import {
  importSnapshot,
  inspectFile,
  KINDS,
  mappingOf,
  readSnapshot,
  REFUSED,
  type Mapping,
  type SnapshotKind,
  type SnapshotManifest,
} from '#reconciliation';
import { digestOfFile } from '#duckdb';
import type { CliConfig } from '../config.js';
import { facts, out as print, say, table } from '../print.js';
import { readJsonOption } from './json-option.js';
import { segmentSettings } from './segment-settings.js';

export interface InspectFlags {
  kind: string;
}

/** Prints a mapping that a person may put into a file, and on standard error what it rests on. */
export async function inspectStock(config: CliConfig, file: string, { kind }: InspectFlags): Promise<number> {
  const { memoryMb, threads, folder } = segmentSettings(config);
  const temporary = join(folder, 'temporary-stock');
  const { mapping, ...seen } = await inspectFile(file, kindOf(kind), { memoryMb, threads, temporary });
  const { read, of } = seen.items;
  const layout = seen.preset ?? 'none that is known';
  say(`${read} of ${of} cells of column "${mapping.columns['item']}" are items; layout: ${layout}`);
  for (const remark of seen.remarks) say(remark);
  say(table(seen.columns, seen.sample));
  print(JSON.stringify(mapping, undefined, 2));
  return 0;
}

export interface ImportFlags extends InspectFlags {
  mapping: string;
  moment: string;
  branch?: string;
  out?: string;
  confirm?: boolean;
  json?: boolean;
}

/** Rows between two lines of progress. */
const SAY_EVERY = 1_000_000;

/** Makes a snapshot of a file. Returns 1 when rows were refused or items stand there twice: they are listed. */
export async function importStock(config: CliConfig, file: string, flags: ImportFlags): Promise<number> {
  const kind = kindOf(flags.kind);
  const mapping = mappingOf(readJsonOption('--mapping', flags.mapping), kind);
  const out = resolve(flags.out ?? snapshotFolder(config, { ...flags, kind, file, mapping }));
  const made = await imported(config, { ...flags, kind, file, mapping, out });
  if (flags.json === true) print(JSON.stringify({ folder: out, ...made }));
  else
    print(
      facts([
        ['snapshot', out],
        ...Object.entries({ rows: made.rows, containers: made.containers, refused: made.refused }),
        ['items named twice', made.duplicates],
        ['wrong check digits', made.wrongCheckDigits],
        ['digest', made.digest],
        ...(made.refused + made.duplicates > 0 ? [['lines and reasons', join(out, REFUSED)] as [string, string]] : []),
      ]),
    );
  return made.refused + made.duplicates > 0 ? 1 : 0;
}

interface FileAsked extends Pick<ImportFlags, 'moment' | 'branch' | 'confirm'> {
  kind: SnapshotKind;
  file: string;
  mapping: Mapping;
}

const snapshotFolder = (config: CliConfig, asked: FileAsked): string =>
  join(segmentSettings(config).folder, 'snapshots', nameOf({ ...asked, mapping: canonicalJson(asked.mapping) }));

function imported(
  config: CliConfig,
  { kind, file, mapping, moment, branch, confirm, out }: FileAsked & { out: string },
): Promise<SnapshotManifest> {
  const { memoryMb, threads } = segmentSettings(config);
  let told = 0;
  const onProgress = ({ rows, part }: { rows: number; part: number }): void => {
    if (rows - told < SAY_EVERY) return;
    told = rows;
    say(`${rows} rows, ${Math.floor(100 * part)} %`);
  };
  return importSnapshot({
    ...{ kind, path: resolve(file), mapping, moment, out, duck: { memoryMb, threads }, onProgress },
    ...defined({ branch, confirmed: confirm }),
  });
}

/**
 * The snapshot of a file, which is made where it is not there yet. @throws PedigreeError `invalid_parameter` when the
 * one that is there is of other bytes under the same name.
 */
export async function snapshotOfFile(
  config: CliConfig,
  asked: FileAsked,
): Promise<SnapshotManifest & { folder: string }> {
  const folder = snapshotFolder(config, asked);
  if (!existsSync(folder)) return { ...(await imported(config, { ...asked, out: folder })), folder };
  const there = await readSnapshot(folder, asked.kind);
  if (there.source.sha256 === (await digestOfFile(resolve(asked.file))).sha256) return { ...there, folder };
  throw new PedigreeError(
    'invalid_parameter',
    `${asked.file} was changed since it was imported for the same moment: give another --moment`,
    { file: asked.file, field: '--moment' },
  );
}

function kindOf(text: string): SnapshotKind {
  if (Object.hasOwn(KINDS, text)) return text as SnapshotKind;
  throw new PedigreeError('invalid_parameter', `--kind: ${text} is none of ${Object.keys(KINDS).join(', ')}`, {
    field: '--kind',
  });
}

/** The same file, mapping and moment have the same name, so that an import that broke off leaves nothing behind. */
function nameOf(of: { kind: string; file: string; mapping: string; moment: string; branch?: string }): string {
  const moment = of.moment.replace(/[^0-9TZ+-]/g, '').slice(0, 30);
  const rest = sha256Hex(canonicalJson([resolve(of.file), of.mapping, of.moment, of.branch ?? null])).slice(0, 8);
  return `${of.kind}-${moment}-${basename(of.file)
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 40)}-${rest}`;
}
