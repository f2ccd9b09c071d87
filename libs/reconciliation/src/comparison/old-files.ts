import { tmpdir } from 'node:os';
import { Duck, quoted } from '#duckdb';
import { PedigreeError } from '#kernel';
import { FOLD, readStates, type States } from '#segments';
import { LEG_COLUMNS } from './joined.js';
import type { Leg } from './rules.js';
import type { RunRecord } from './run-record.js';

/** To read what a file says of its columns takes no more. */
const MEMORY_MB = 64;

/**
 * Versions before wrote fewer columns, and what is not there cannot be compared.
 * @throws PedigreeError `not_found` that names the folder, the columns, and what to do.
 */
export async function refuseOldFiles(legs: RunRecord['legs']): Promise<void> {
  const duck = await Duck.open({ memoryMb: MEMORY_MB, threads: 1, temporary: tmpdir() });
  try {
    for (const [leg, { folder, files }] of Object.entries(legs)) {
      const there = await columnsIn(duck, files[0] ?? '');
      const wanted = Object.values(LEG_COLUMNS[leg as Leg]).map(([name]) => name);
      const missing = [...new Set(wanted)].filter((name) => !there.has(name));
      if (missing.length > 0)
        throw otherVersion(folder, leg as Leg, `an earlier version: its files have no column ${missing.join(', ')}`);
    }
  } finally {
    await duck.close();
  }
}

async function columnsIn(duck: Duck, file: string): Promise<Set<string>> {
  const rows = await duck.rows<{ name: string }>(`SELECT name FROM parquet_schema(${quoted(file)})`);
  return new Set(rows.map(({ name }) => name));
}

const AGAIN: Record<Leg, string> = {
  record: 'write the states again (pedigree states)',
  stock: 'import the file again (pedigree stock import)',
  disposals: 'import the file again (pedigree stock import --kind disposals)',
  registry: 'ask the registry again (pedigree registry fetch), or import its file again',
  documents: 'have them written again',
};

/**
 * States of packs that may be compared. Another version may have counted other documents.
 * @throws PedigreeError as `readStates`; `not_found` for states of another version, with what to do.
 */
export async function readStatesToCompare(folder: string): Promise<States> {
  const states = await readStates(folder);
  if (states.fold === FOLD) return states;
  throw otherVersion(folder, 'record', 'another version, which counts other documents');
}

const otherVersion = (folder: string, leg: Leg, version: string): PedigreeError =>
  new PedigreeError('not_found', `${folder} is of ${version}. Begin the run anew, or ${AGAIN[leg]}`, { file: folder });
