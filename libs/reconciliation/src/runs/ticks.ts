import { Cron } from 'croner';
import { PedigreeError, uuid5 } from '#kernel';
import type { RunKind } from './request.js';

/** When runs are made: a cron expression of five fields, in a time zone. */
export interface Timetable {
  cron: string;
  zone: string;
}

const MINUTE_MS = 60_000;
const YEAR_MS = 366 * 24 * 60 * MINUTE_MS;

/** @throws PedigreeError `invalid_configuration` that says what is wrong with it. */
export function timetableOf(cron: string, zone: string, field: string): Timetable {
  try {
    if (cron.trim().split(/\s+/).length !== 5) throw new Error('it has five fields: minute hour day month weekday');
    if (patternOf({ cron, zone }).nextRun() === null) throw new Error('it never comes');
  } catch (error) {
    throw new PedigreeError('invalid_configuration', `${field}: ${cron} in ${zone}: ${(error as Error).message}`, {
      ...{ field, item: cron },
    });
  }
  return { cron, zone };
}

const patternOf = ({ cron, zone }: Timetable): Cron => new Cron(cron.trim(), { timezone: zone, paused: true });

/**
 * The newest tick that has come, within a year; undefined where there was none. Those before it are over.
 * The later a moment, the later the tick behind it: so the last minute whose next tick has come is found by halving.
 */
export function newestTick(timetable: Timetable, now: Date): Date | undefined {
  const pattern = patternOf(timetable);
  const cameAfter = (ms: number): Date | undefined => {
    const next = pattern.nextRun(new Date(ms));
    return next !== null && next <= now ? next : undefined;
  };
  let [fromMs, toMs] = [now.getTime() - YEAR_MS, now.getTime()];
  let newest = cameAfter(fromMs);
  while (newest !== undefined && toMs - fromMs > MINUTE_MS) {
    const middleMs = Math.floor((fromMs + toMs) / 2);
    const came = cameAfter(middleMs);
    if (came === undefined) toMs = middleMs;
    else [fromMs, newest] = [middleMs, came];
  }
  return newest;
}

/** A tick is one run, however many reconcilers there are. */
export const tickRunId = (installationId: string, kind: RunKind, tick: Date): string =>
  uuid5(`reconciliation:${kind}@${tick.toISOString()}`, installationId);
