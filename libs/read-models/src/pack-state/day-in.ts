/** The day that a calendar on the wall shows in a zone, which is an offset such as `+03:00`. */
export function dayIn(zone: string, at: Date): string {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(zone) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  return new Date(at.getTime() + offset * 60_000).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

const DAY_MS = 86_400_000;
/** The day so many days later. */
export const dayAfter = (days: number, { zone, asOf }: { zone: string; asOf: Date }): string =>
  dayIn(zone, new Date(asOf.getTime() + days * DAY_MS));
