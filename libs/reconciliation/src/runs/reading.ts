import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sha256 } from '#kernel';
import { writeDurably } from '#service';
import type { StandsOn } from '../comparison/run-record.js';
import type { Fates } from '../fetches/take-over.js';

/** A reading that asked about all. */
export interface FullReading {
  run: string;
  /** When it began: ISO 8601. */
  at: string;
  calls: number;
  rows: number;
}

/** An export that was read, or given as a snapshot: its rows, those refused, and those on which the run rests. */
export interface ExportRead {
  /** Its rows are at least of this moment: ISO 8601. */
  moment: string;
  rows: number;
  refused: number;
  stood: number;
  /** Digest of the snapshot that was given; absent: the registry made the export for this run. */
  given?: Sha256;
}

/** `reading.json` of a run: what reading the registry took, and what was taken over from an earlier run. */
export interface Reading {
  /** When it began, before its first call: ISO 8601. */
  at: string;
  calls: number;
  /** Rows of the registry's side, and of these the ones that an earlier run has read. */
  rows: number;
  takenOver: number;
  /** The oldest answer among the rows; null: there is none. */
  oldestAt: string | null;
  /** What became of the rows of the earlier run. */
  fates?: Fates;
  standsOn?: StandsOn;
  /** Containers of the stock that were asked about; absent: none. */
  containers?: number;
  /** The last of them, behind which the next run goes on; and the last of the run before, behind which they begin. */
  containersThrough?: string;
  containersBehind?: string;
  /** Why it was allowed to stand on an earlier run, and does not. */
  whyFull?: string;
  full: FullReading;
  /** Absent: none was read. */
  exported?: ExportRead;
  /** Runs whose answers some row may rest on, the full one first. */
  chain: string[];
  /** Of the registry's side: what it was when this was written. */
  digest: Sha256;
}

export const READING_FILE = 'reading.json';

export const writeReading = (folder: string, reading: Reading): void =>
  writeDurably(join(folder, READING_FILE), JSON.stringify(reading, undefined, 2));

/** Undefined for a run that has not read the registry, or not to its end. */
export async function readReading(folder: string): Promise<Reading | undefined> {
  const text = await readFile(join(folder, READING_FILE), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Reading);
}

/** Calls that asking about all would have taken, at the pace of the full reading: a call takes so many packs. */
export const callsOfFull = ({ calls, rows, full }: Pick<Reading, 'calls' | 'rows' | 'full'>, run: string): number =>
  full.run === run ? calls : Math.ceil((full.calls * rows) / Math.max(1, full.rows));
