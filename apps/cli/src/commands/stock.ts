import { join, resolve } from 'node:path';
import { invalidParameter, systemClock } from '#kernel';
import {
  importFile,
  inspectFile,
  KINDS,
  mappingOf,
  mustHaveCome,
  REFUSED,
  snapshotFolder,
  snapshotsFolder,
  type SnapshotKind,
} from '#reconciliation';
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

/** Makes a snapshot of a file. Returns 1 when rows were refused or items stand there twice: they are listed. */
export async function importStock(config: CliConfig, file: string, flags: ImportFlags): Promise<number> {
  const kind = kindOf(flags.kind);
  mustHaveCome(flags.moment, systemClock.now(), { field: '--moment', what: `--moment: ${file}` });
  const mapping = mappingOf(readJsonOption('--mapping', flags.mapping), kind);
  const { memoryMb, threads, folder } = segmentSettings(config);
  const asked = { ...flags, kind, file, mapping };
  const out = resolve(flags.out ?? snapshotFolder(snapshotsFolder(folder), asked));
  const made = await importFile({ ...asked, out }, { duck: { memoryMb, threads }, say });
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

function kindOf(text: string): SnapshotKind {
  if (Object.hasOwn(KINDS, text)) return text as SnapshotKind;
  throw invalidParameter('--kind', `${text} is none of ${Object.keys(KINDS).join(', ')}`);
}
