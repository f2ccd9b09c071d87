const DAY_MS = 86_400_000;
/** No zone is further from UTC than this, and no change of a zone moves its clock by more than a day. */
const WIDEST_MS = 2 * DAY_MS;

/** A calendar day, as the number of days since 1970-01-01. It has no zone. */
export type Day = number;

/** `2026-03-01` as a day; undefined for any other text and for a day that does not exist. */
export function dayOf(text: string): Day | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text ? undefined : ms / DAY_MS;
}

export const dayText = (day: Day): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** 0 for Sunday to 6 for Saturday; 1970-01-01 was a Thursday. */
export const weekdayOf = (day: Day): number => (((day + 4) % 7) + 7) % 7;

/** Beginnings of days that are remembered: those of some years. */
const MOST_REMEMBERED = 5_000;

/** The days of a time zone (IANA). Instants are milliseconds in UTC. */
export class ZoneDays {
  private readonly format: Intl.DateTimeFormat;
  private readonly beginnings = new Map<Day, number>();

  /** Throws RangeError for a zone that is not known here. */
  constructor(zone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
    });
  }

  /** The day that the calendar on the wall shows at an instant. */
  dayAt(ms: number): Day {
    const part = { year: 0, month: 0, day: 0 };
    for (const { type, value } of this.format.formatToParts(ms)) if (type in part) part[type as 'day'] = Number(value);
    return Date.UTC(part.year, part.month - 1, part.day) / DAY_MS;
  }

  /**
   * The first instant of a day. Where a change of the clock skips its midnight, that of the change; where it skips the
   * whole day, that of the next one.
   */
  beginningOf(day: Day): number {
    const known = this.beginnings.get(day);
    if (known !== undefined) return known;
    let [before, from] = [day * DAY_MS - WIDEST_MS, day * DAY_MS + WIDEST_MS];
    while (from - before > 1) {
      const middle = Math.floor((before + from) / 2);
      if (this.dayAt(middle) < day) before = middle;
      else from = middle;
    }
    if (this.beginnings.size >= MOST_REMEMBERED) this.beginnings.clear();
    this.beginnings.set(day, from);
    return from;
  }
}
