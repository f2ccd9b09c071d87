const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/**
 * Marked medicines began later and end earlier. What lies outside is a slip of the pen, and a database may not even be
 * able to store it.
 */
const FIRST_YEAR = 2000;
const LAST_YEAR = 2100;
/** The largest offset that XML Schema knows (part 2, 3.2.7.3). */
const MAX_OFFSET_MINUTES = 14 * 60;
const MINUTE_MS = 60_000;

/**
 * A moment as UTC, `2026-01-15T06:00:00Z`, with the fraction of the second as it was written; or what is wrong with the
 * text.
 */
type ReadInstant = { at: string } | { why: string };

/**
 * Reads a date and time with a zone. Strict where `Date` is generous: no 30th of February, no hour 24, no offset beyond
 * 14 hours, and only the years 2000 to 2100 as written.
 */
export function readInstant(text: string): ReadInstant {
  const match = DATE_TIME.exec(text);
  if (match === null) return { why: 'is not a date and time with a zone (YYYY-MM-DDThh:mm:ss+hh:mm)' };
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(7);
  if (year < FIRST_YEAR || year > LAST_YEAR) return { why: `is outside the years ${FIRST_YEAR} to ${LAST_YEAR}` };
  const local = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  // Date rolls what does not exist over into what does: then the parts no longer agree with what was written.
  if (local.toISOString().slice(0, 19) !== text.slice(0, 19))
    return { why: 'is a day or a time of day that does not exist' };
  const offset = Number(offsetHours) * 60 + Number(offsetMinutes);
  if (Number(offsetMinutes) > 59 || offset > MAX_OFFSET_MINUTES)
    return { why: 'has a zone offset that does not exist' };
  const utc = new Date(local.getTime() - (sign === '-' ? -1 : 1) * offset * MINUTE_MS);
  return { at: `${utc.toISOString().slice(0, 19)}${fraction}Z` };
}
