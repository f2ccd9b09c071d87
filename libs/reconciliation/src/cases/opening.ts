import { CASE_SEVERITIES, type CaseSeverity } from '#domain';
import { PedigreeError } from '#kernel';
import type { ToldCase } from './case-log.js';

/** Days from the moment of a run until a case is due. */
export type DueDays = Record<CaseSeverity, number>;

export const DEFAULT_DUE_DAYS = 'critical=1,warning=7,information=30';

const DAY_MS = 86_400_000;
const MOST_DAYS = 3_650;

/** Reads `critical=1,warning=7,information=30`. @throws PedigreeError `invalid_configuration` that names the field. */
export function dueDaysOf(text: string, field: string): DueDays {
  const pairs = text.split(',').map((one) => one.split('='));
  const days = CASE_SEVERITIES.map((severity) => {
    const [pair, second] = pairs.filter(([name]) => name === severity);
    const value = Number(pair?.[1]);
    if (pair?.length !== 2 || second !== undefined || !/^\d{1,4}$/.test(pair[1] ?? '') || value > MOST_DAYS)
      throw new PedigreeError('invalid_configuration', `${field}: must be like ${DEFAULT_DUE_DAYS}`, { field });
    return [severity, value] as const;
  });
  if (pairs.length !== days.length)
    throw new PedigreeError('invalid_configuration', `${field}: must be like ${DEFAULT_DUE_DAYS}`, { field });
  return Object.fromEntries(days) as DueDays;
}

export const dueAt = (severity: CaseSeverity, moment: string, days: DueDays): string =>
  new Date(Date.parse(moment) + days[severity] * DAY_MS).toISOString();

/** What a run did to cases. */
export interface Opening {
  opened: number;
  seen: number;
  reopened: number;
  resolved: number;
  /** The run had told them before, or a later one has. */
  unchanged: number;
  /** Unresolved, not found, and the run could not tell that they are over. */
  notCovered: number;
}

export const noOpening = (): Opening => ({ opened: 0, seen: 0, reopened: 0, resolved: 0, unchanged: 0, notCovered: 0 });

const COUNTED = {
  ...({ CaseOpened: 'opened', CaseSeen: 'seen', CaseReopened: 'reopened', CaseResolved: 'resolved' } as const),
  ...({ CaseMissed: 'notCovered' } as const),
};

/** Counts what became of cases. */
export function count(opening: Opening, told: readonly ToldCase[]): void {
  for (const { events } of told) {
    const type = events[0]?.type;
    opening[COUNTED[type as keyof typeof COUNTED] ?? 'unchanged'] += 1;
  }
}
