import { weekdayOf, type Day } from './days.js';

export const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;
type Weekday = (typeof WEEKDAYS)[number];

/** What makes a day a working day. Days outside `from` to `to`, both included, are not known to be anything. */
interface WorkingDayRules {
  from: Day;
  to: Day;
  weekend: readonly Weekday[];
  holidays: readonly Day[];
  workingWeekendDays: readonly Day[];
}

/** The working days of a calendar, in order. */
export class WorkingDays {
  readonly from: Day;
  readonly to: Day;
  private readonly days: Day[] = [];

  constructor({ from, to, weekend, holidays, workingWeekendDays }: WorkingDayRules) {
    [this.from, this.to] = [from, to];
    const free = new Set(weekend.map((name) => WEEKDAYS.indexOf(name)));
    const [off, on] = [new Set(holidays), new Set(workingWeekendDays)];
    for (let day = from; day <= to; day += 1)
      if (on.has(day) || (!off.has(day) && !free.has(weekdayOf(day)))) this.days.push(day);
  }

  /**
   * The working day that is number `count` after this day, which is not counted itself; for 0 this day, or the next
   * working day where it is none. Undefined where the calendar does not list so many.
   */
  after(day: Day, count: number): Day | undefined {
    if (day < this.from || day > this.to) return undefined;
    return count === 0 ? this.days[this.firstFrom(day)] : this.days[this.firstFrom(day + 1) + count - 1];
  }

  /** The place of the first working day from here on. */
  private firstFrom(day: Day): number {
    let [low, high] = [0, this.days.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.days[middle] as Day) < day) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
