import { join } from 'node:path';
import { looksAtTheSame, readRun, type RunRecord } from '../comparison/run-record.js';
import { isByEarlierRecord, namesIn, readFileRun, type FileRun } from './run-folder.js';
import { readSchedule } from './schedule.js';
import { isAlike } from './standing.js';

/**
 * A run among these that is of a later moment, has looked at the same, and has opened its cases: what it did not find
 * is over. Undefined where none is, and where each run asks about other containers, or a registry was given. One by an
 * earlier record has opened none.
 */
export async function laterRun(runs: string, run: FileRun, of: RunRecord): Promise<string | undefined> {
  const { containers, containersAsked } = of.settings;
  if (run.registry !== null || (containers !== false && containersAsked > 0)) return undefined;
  for (const name of await namesIn(runs)) {
    // Of a folder that cannot be read nothing is known.
    if (await hasTheLastWord(join(runs, name), run, of).catch(() => false)) return name;
  }
  return undefined;
}

async function hasTheLastWord(folder: string, run: FileRun, of: RunRecord): Promise<boolean> {
  if (readSchedule(folder)?.ended !== 'completed') return false;
  if (isByEarlierRecord(await readFileRun(folder))) return false;
  const other = await readRun(join(folder, 'comparison'));
  return other.moment > of.moment && looksAtTheSame(other, of) && isAlike(folder, run);
}
