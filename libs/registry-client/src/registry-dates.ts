const MINUTE_MS = 60_000;
const ZONE = /^(?:Z|([+-])(\d{2}):?(\d{2}))$/;

/** Minutes east of UTC of `Z`, `+03:00` or `+0300`. Throws on anything else. */
export function parseZone(zone: string): number {
  const match = ZONE.exec(zone);
  const hours = Number(match?.[2] ?? 0);
  const minutes = Number(match?.[3] ?? 0);
  if (!match || hours > 18 || minutes > 59) throw new Error(`not a zone offset: ${zone}`);
  return (match[1] === '-' ? -1 : 1) * (hours * 60 + minutes);
}

const TOKENS = /yyyy|MM|dd|HH|mm|ss|SSS|XXX|'(?:[^']|'')*'|[^A-Za-z]/y;

/**
 * The parts of a date format (Java's letters, as the registry's manual writes them). Throws on a letter it does not
 * know.
 */
export function parseDateFormat(format: string): string[] {
  const parts: string[] = [];
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < format.length) {
    const at = TOKENS.lastIndex;
    // A bare T between date and time is so common that it passes without quotes.
    const part = format[at] === 'T' ? 'T' : TOKENS.exec(format)?.[0];
    if (part === undefined) throw new Error(`unknown letter in date format at ${at}: ${format}`);
    parts.push(part);
    TOKENS.lastIndex = at + part.length;
  }
  if (parts.length === 0) throw new Error('empty date format');
  return parts;
}

const zoneText = (offsetMinutes: number): string => {
  const pad = (n: number): string => String(n).padStart(2, '0');
  const size = Math.abs(offsetMinutes);
  return `${offsetMinutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
};

/** The instant in the registry's zone and in the profile's format, for list filters (public-facts 1.2). */
export function formatRegistryDate(instant: Date, format: string, zone: string): string {
  const offset = parseZone(zone);
  const iso = new Date(instant.getTime() + offset * MINUTE_MS).toISOString();
  const value: Record<string, string> = {
    yyyy: iso.slice(0, 4),
    MM: iso.slice(5, 7),
    dd: iso.slice(8, 10),
    HH: iso.slice(11, 13),
    mm: iso.slice(14, 16),
    ss: iso.slice(17, 19),
    SSS: iso.slice(20, 23),
    XXX: zoneText(offset),
  };
  return parseDateFormat(format)
    .map((part) => value[part] ?? (part.startsWith("'") ? part.slice(1, -1).replaceAll("''", "'") || "'" : part))
    .join('');
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s?(Z|[+-]\d{2}:?\d{2})?$/;

/** What some programs write where they have no date (0001-01-01, 1970-01-01, 9999-12-31) is none. */
const FIRST_YEAR = 1980;
const LAST_YEAR = 2100;

/**
 * A registry date as ISO 8601 in UTC with milliseconds. Takes a blank or a T between date and time, fractions, and a
 * zone; without a zone the profile's is meant (public-facts 1.2). `undefined` for anything that is not a date, an
 * impossible day and a year outside 1980 to 2100 included.
 */
export function parseRegistryDate(text: unknown, zone: string): string | undefined {
  const match = typeof text === 'string' ? DATE.exec(text.trim()) : null;
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const milli = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const local = new Date(Date.UTC(year, month - 1, day, hour, minute, second, milli));
  // Date.UTC rolls 31 February over into March; a date that does not come back as it was written was none.
  const same =
    year >= FIRST_YEAR &&
    year <= LAST_YEAR &&
    local.getUTCMonth() === month - 1 &&
    local.getUTCDate() === day &&
    local.getUTCHours() === hour &&
    local.getUTCMinutes() === minute &&
    local.getUTCSeconds() === second;
  if (!same) return undefined;
  return new Date(local.getTime() - parseZone(match[8] ?? zone) * MINUTE_MS).toISOString();
}
