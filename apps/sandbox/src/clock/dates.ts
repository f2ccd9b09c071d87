/** `2026-11-21 10:00:00` in the zone, as lists show and filter dates (public-facts 1.2). */
export function listDate(unixMs: number, zoneMinutes: number): string {
  const iso = new Date(unixMs + zoneMinutes * 60_000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** `2026-11-21T10:00:00.123+03:00`, as receipts state their moment. */
export function zonedInstant(unixMs: number, zone: string, zoneMinutes: number): string {
  return new Date(unixMs + zoneMinutes * 60_000).toISOString().slice(0, 23) + zone;
}

const DATE = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Unix ms of a filter's date, in either shape and with up to nine digits of a second (public-facts 1.2). One without a
 * zone is read in the profile's. Undefined when it is not a date.
 */
export function parseListDate(text: string, zone: string): number | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const unixMs = Date.parse(`${match[1]}T${match[2] ?? '00:00:00'}${match[3] ?? zone}`);
  return Number.isNaN(unixMs) || !isDay(match[1] as string) ? undefined : unixMs;
}

/** Date.parse takes 31 February for 3 March. */
const isDay = (day: string): boolean => new Date(day).toISOString().startsWith(day);

/** The last ms that a filter's date covers: of its second, which is all that lists show, or of its day. */
export function endOfListDate(text: string, zone: string): number | undefined {
  const unixMs = parseListDate(text, zone);
  if (unixMs === undefined) return undefined;
  return text.length === 10 ? unixMs + 86_399_999 : Math.floor(unixMs / 1000) * 1000 + 999;
}
