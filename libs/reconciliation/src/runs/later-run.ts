import { join } from 'node:path';
import { looksAtTheSame, readRun, type RunRecord } from '../comparison/run-record.js';
import { namesIn, readFileRun, type FileRun } from './run-folder.js';
import { readSchedule, type RunSchedule } from './schedule.js';

/**
 * A run among these that is of a later moment, has looked at the same, and has opened its cases: what it did not find
 * is over. Undefined where none is, and where each run asks about other containers, or a registry was given.
 */
export async function laterRun(runs: string, run: FileRun, of: RunRecord): Promise<string | undefined> {
  const { containers, containersAsked } = of.settings;
  if (run.registry !== null || (containers !== false && containersAsked > 0)) return undefined;
  for (const name of await namesIn(runs)) {
    const folder = join(runs, name);
    if (scheduleIn(folder)?.ended !== 'completed') continue;
    const other = await readRun(join(folder, 'comparison')).catch(() => undefined);
    if (other === undefined || other.moment <= of.moment || !looksAtTheSame(other, of)) continue;
    if (await isAskedAlike(folder, run)) return name;
  }
  return undefined;
}

async function isAskedAlike(folder: string, { account, way }: FileRun): Promise<boolean> {
  const asked = await readFileRun(folder).catch(() => undefined);
  return asked?.dryRun === false && asked.registry === null && asked.account === account && asked.way === way;
}

function scheduleIn(folder: string): RunSchedule | undefined {
  try {
    return readSchedule(folder);
  } catch {
    return undefined;
  }
}
