import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '#service';

/** `schedule.json` of a run that is made by itself: how often it was tried, and whether it is over. */
export interface RunSchedule {
  attempts: number;
  /** Not tried before, ISO 8601. */
  notBefore: string | null;
  ended: 'completed' | 'failed' | null;
  /** It was asked for, and waits for no hour. */
  atAnyHour?: boolean;
}

export const SCHEDULE_FILE = 'schedule.json';

export const writeSchedule = (folder: string, schedule: RunSchedule): void =>
  writeDurably(join(folder, SCHEDULE_FILE), JSON.stringify(schedule));

/** Undefined for a run that is made by a person. */
export function readSchedule(folder: string): RunSchedule | undefined {
  const file = join(folder, SCHEDULE_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunSchedule) : undefined;
}
