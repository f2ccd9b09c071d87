import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCalendar, type Deadline, type DeadlineCalendar } from './calendar.js';
import { dueAfter, startsDueBy } from './due.js';
import { GIVEN_CALENDAR } from '../../test/given-calendar.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const RUNS = { seed: SEED, numRuns: 80 };
const [QUARTER_MS, HOUR_MS, DAY_MS] = [900_000, 3_600_000, 86_400_000];
const [FROM, TO] = ['2024-01-01', '2026-12-31'];
/** Rows are in force before the first day that the calendar lists. */
const VALID_FROM = '2023-12-01';

/** Zones whose clocks change at midnight (Beirut), by half an hour (Lord Howe), or never (Moscow), and far ones. */
const ZONES = [
  ...['Europe/Moscow', 'Europe/Berlin', 'America/New_York', 'Asia/Beirut', 'Australia/Lord_Howe'],
  ...['Pacific/Apia', 'America/Santiago', 'Asia/Kathmandu', 'UTC'],
];
const WEEK = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

interface Given {
  zone: string;
  weekend: string[];
  holidays: string[];
  workingWeekendDays: string[];
}
type Limit = { workingDays: number } | { calendarDays: number; movesToWorkingDay: boolean } | { hours: number };

const listedDay = fc
  .integer({ min: Date.parse(FROM) / DAY_MS, max: Date.parse(TO) / DAY_MS })
  .map((day) => new Date(day * DAY_MS).toISOString().slice(0, 10));
const given: fc.Arbitrary<Given> = fc
  .record({
    zone: fc.constantFrom(...ZONES),
    weekend: fc.uniqueArray(fc.constantFrom(...WEEK), { maxLength: 3 }),
    days: fc.uniqueArray(listedDay, { maxLength: 200 }),
    cut: fc.integer({ min: 0, max: 200 }),
  })
  .map(({ zone, weekend, days, cut }) => ({
    zone,
    weekend,
    holidays: days.slice(cut),
    workingWeekendDays: days.slice(0, cut),
  }));
const limit: fc.Arbitrary<Limit> = fc.oneof(
  fc.record({ workingDays: fc.integer({ min: 0, max: 15 }) }),
  fc.record({ calendarDays: fc.integer({ min: 0, max: 15 }), movesToWorkingDay: fc.boolean() }),
  fc.record({ hours: fc.integer({ min: 1, max: 400 }) }),
);
const start = fc.integer({ min: Date.parse('2024-01-03'), max: Date.parse('2026-11-01') });

const daysOf = ({ zone: _, ...days }: Given) => days;
const judged = fc.record({ one: given, of: limit, startMs: start });

const calendarOf = (one: Given): DeadlineCalendar =>
  readCalendar({ ...GIVEN_CALENDAR, zone: one.zone, workingDays: { ...daysOf(one), from: FROM, to: TO } });
const rowOf = (of: Limit): Deadline =>
  ({ role: 'sender', channel: 'api', limit: of, validFrom: Date.parse(VALID_FROM) / DAY_MS }) as unknown as Deadline;

/** Day by day, by texts alone. */
function naiveDue(one: Given, of: Limit, startMs: number): number {
  if ('hours' in of) return startMs + of.hours * HOUR_MS;
  const works = (day: string): boolean =>
    one.workingWeekendDays.includes(day) ||
    (!one.holidays.includes(day) && !one.weekend.includes(WEEK[new Date(`${day}T12:00Z`).getUTCDay()] ?? ''));
  const next = (day: string): string => new Date(Date.parse(`${day}T12:00Z`) + DAY_MS).toISOString().slice(0, 10);
  let day = wallDay(one.zone, startMs);
  const moves = 'workingDays' in of ? of.workingDays === 0 : of.movesToWorkingDay;
  let left = 'workingDays' in of ? of.workingDays : of.calendarDays;
  while (left > 0) {
    day = next(day);
    if ('calendarDays' in of || works(day)) left -= 1;
  }
  while (moves && !works(day)) day = next(day);
  return endOf(day, one.zone, startMs);
}

/** What the wall calendar shows: another function of the platform than the one under test uses. */
const wallDay = (zone: string, ms: number): string => new Date(ms).toLocaleDateString('sv-SE', { timeZone: zone });

/** Quarter of an hour by quarter of an hour: no clock has changed at another time in these years. */
function endOf(day: string, zone: string, startMs: number): number {
  let ms = Math.max(Math.floor(startMs / QUARTER_MS) * QUARTER_MS, Date.parse(`${day}T00:00Z`) - DAY_MS);
  while (wallDay(zone, ms) <= day) ms += QUARTER_MS;
  return ms;
}

describe(`due moments (seed ${SEED})`, () => {
  it('are those of a walk day by day, in every zone', () => {
    fc.assert(
      fc.property(judged, ({ one, of, startMs }) => {
        expect(dueAfter(calendarOf(one), rowOf(of), startMs)).toBe(naiveDue(one, of, startMs));
      }),
      RUNS,
    );
  });

  it('never come earlier for what began later', () => {
    fc.assert(
      fc.property(judged, fc.integer({ min: 0, max: 20 * DAY_MS }), ({ one, of, startMs }, laterMs) => {
        const calendar = calendarOf(one);
        const [first, second] = [startMs, startMs + laterMs].map((ms) => dueAfter(calendar, rowOf(of), ms) as number);
        expect(second).toBeGreaterThanOrEqual(first as number);
      }),
      RUNS,
    );
  });

  it('are counted by their starts as one by one', () => {
    const soonOrBefore = fc.integer({ min: Date.parse('2023-12-05'), max: Date.parse('2024-01-20') });
    const starts = fc.array(fc.oneof(start, soonOrBefore), { minLength: 1, maxLength: 30 });
    const moment = fc.integer({ min: Date.parse('2023-06-01'), max: Date.parse('2026-11-20') });
    fc.assert(
      fc.property(judged, starts, moment, ({ one, of }, all, momentMs) => {
        const [calendar, row] = [calendarOf(one), rowOf(of)];
        const { fromMs, beforeMs } = startsDueBy(calendar, row, new Date(momentMs));
        const near = [...all, beforeMs, beforeMs - 1, momentMs].filter(
          (ms) => ms >= calendar.zone.beginningOf(row.validFrom),
        );
        const counted = near.filter((ms) => ms >= fromMs && ms < beforeMs);
        expect(counted).toEqual(near.filter((ms) => (dueAfter(calendar, row, ms) ?? Infinity) <= momentMs));
      }),
      RUNS,
    );
  });
});
