import { neverReached } from '#kernel';
import type { Deadline, DeadlineCalendar, DeadlineChannel, DeadlineRole } from './calendar.js';
import type { Day } from './days.js';

const HOUR_MS = 3_600_000;

/** What a due moment follows from. */
export interface DutyFacts {
  role: DeadlineRole;
  docType: number | null;
  channel: DeadlineChannel;
  /** The moment that the document claims; null where it claims none that is an instant. */
  operationAt: Date | null;
  /** Of one that was sent in place of others, what each of them and itself claims, the earliest first. */
  claims?: readonly Date[];
  /** When its command was registered, or a list of the registry showed it. */
  knownAt: Date;
  /** The registry's moment of acceptance. */
  acceptedAt: Date | null;
}

/**
 * Why nobody can tell a due moment. `no_calendar`: none is set. `not_listed`: the calendar does not speak of the type
 * in this role on this channel. `not_in_force`: no row of it was in force on the day that starts the clock.
 * `days_not_listed`: the working days of that time are not in the calendar. `not_started`: the moment that starts the
 * clock is not known.
 */
export const DUE_UNKNOWN = ['no_calendar', 'not_listed', 'not_in_force', 'days_not_listed', 'not_started'] as const;
export type DueUnknown = (typeof DUE_UNKNOWN)[number];

/** `at` is the first moment that is too late. */
export type Due =
  | { kind: 'due'; at: Date; startedAt: Date; deadline: Deadline }
  | { kind: 'none' }
  | { kind: 'unknown'; why: DueUnknown };

const unknown = (why: DueUnknown): Due => ({ kind: 'unknown', why });

/** When a document is due by a calendar. Pure: the same facts and the same calendar give the same moment, anywhere. */
export function dueOf(calendar: DeadlineCalendar | undefined, facts: DutyFacts): Due {
  if (calendar === undefined) return unknown('no_calendar');
  const rows = facts.docType === null ? undefined : calendar.rowsOf({ ...facts, docType: facts.docType });
  if (rows === undefined) return unknown('not_listed');
  if (rows.length === 0) return { kind: 'none' };
  // A wrong date, which the registry has refused, may lie before all rows: it does not hide when the document is due.
  const { claims = [] } = facts;
  const dues = [facts.operationAt, ...claims].map((operationAt) => dueBy(calendar, rows, { ...facts, operationAt }));
  return dues.find(({ kind }) => kind === 'due') ?? (dues[0] as Due);
}

function dueBy(calendar: DeadlineCalendar, rows: readonly Deadline[], facts: DutyFacts): Due {
  // Rows of one type may start their clocks differently: each is asked about the day of its own start.
  const row = rows.find((one) => isInForce(calendar, one, startOf(one, facts)));
  if (row === undefined)
    return unknown(rows.some((one) => startOf(one, facts) !== null) ? 'not_in_force' : 'not_started');
  const startedAt = startOf(row, facts) as Date;
  const at = dueAfter(calendar, row, startedAt.getTime());
  return at === undefined ? unknown('days_not_listed') : { kind: 'due', at: new Date(at), startedAt, deadline: row };
}

function startOf({ startsAt }: Deadline, { operationAt, knownAt, acceptedAt }: DutyFacts): Date | null {
  switch (startsAt) {
    case 'operation_date':
      return operationAt;
    case 'known':
      return knownAt;
    case 'accepted':
      return acceptedAt;
    default:
      return neverReached(startsAt, 'start of a clock');
  }
}

function isInForce({ zone }: DeadlineCalendar, { validFrom, validTo = Infinity }: Deadline, at: Date | null): boolean {
  if (at === null) return false;
  const day = zone.dayAt(at.getTime());
  return validFrom <= day && day <= validTo;
}

/**
 * The first moment that is too late, in milliseconds. Hours are counted from the start itself. Of days the one on which
 * the clock starts is not counted, and the limit ends with its last day, in the calendar's zone. Undefined where the
 * calendar does not list the days.
 */
export function dueAfter(
  calendar: DeadlineCalendar,
  { limit }: Pick<Deadline, 'limit'>,
  startMs: number,
): number | undefined {
  if ('hours' in limit) return startMs + limit.hours * HOUR_MS;
  const last = lastDay(calendar, limit, calendar.zone.dayAt(startMs));
  return last === undefined ? undefined : calendar.zone.beginningOf(last + 1);
}

function lastDay(
  { workingDays }: DeadlineCalendar,
  limit: Exclude<Deadline['limit'], { hours: number }>,
  day: Day,
): Day | undefined {
  if ('workingDays' in limit) return workingDays.after(day, limit.workingDays);
  const last = day + limit.calendarDays;
  return limit.movesToWorkingDay ? workingDays.after(last, 0) : last;
}

/**
 * Which starts of the clock are due by a moment: those from `fromMs` on and before `beforeMs`, while the row is in
 * force, which ends at `endMs`. A later start is never due earlier, so that these are all. Counting by them needs no
 * look at single documents.
 */
export function startsDueBy(
  calendar: DeadlineCalendar,
  row: Deadline,
  moment: Date,
): { fromMs: number; beforeMs: number; endMs: number } {
  const { zone } = calendar;
  const first = Math.max(row.validFrom, firstKnown(calendar, row));
  const fromMs = zone.beginningOf(first);
  const endMs = row.validTo === undefined ? Infinity : zone.beginningOf(row.validTo + 1);
  const notDueMs = firstNotDue(calendar, row, { moment, first });
  return { fromMs, beforeMs: Math.max(fromMs, Math.min(endMs, notDueMs)), endMs };
}

/** The first day that can start the clock: of earlier ones the calendar does not tell when they are due. */
function firstKnown({ workingDays }: DeadlineCalendar, { limit }: Deadline): Day {
  if ('workingDays' in limit) return workingDays.from;
  return 'calendarDays' in limit && limit.movesToWorkingDay ? workingDays.from - limit.calendarDays : -Infinity;
}

/** The first start, from a first day on, that is not due by a moment. */
function firstNotDue(
  calendar: DeadlineCalendar,
  { limit }: Deadline,
  { moment, first }: { moment: Date; first: Day },
): number {
  if ('hours' in limit) return moment.getTime() - limit.hours * HOUR_MS + 1;
  const today = calendar.zone.dayAt(moment.getTime());
  let [due, open] = [first - 1, Math.max(first, today)];
  while (open - due > 1) {
    const middle = Math.floor((due + open) / 2);
    if ((lastDay(calendar, limit, middle) ?? Infinity) < today) due = middle;
    else open = middle;
  }
  return calendar.zone.beginningOf(due + 1);
}

/** On how many days of the calendar's zone it was late: 1 on the first. */
export function daysLate({ zone }: DeadlineCalendar, dueAt: Date, doneAt: Date): number {
  return zone.dayAt(doneAt.getTime()) - zone.dayAt(dueAt.getTime()) + 1;
}
