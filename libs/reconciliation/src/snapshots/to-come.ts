import { PedigreeError } from '#kernel';

/** Clocks and zones of two systems differ by hours. What is further ahead is a mistake, such as a mistyped year. */
export const MOST_AHEAD_MS = 86_400_000;

/** Whether a moment (ISO 8601) is to come, by more than a day. */
export const isToCome = (moment: string, now: Date): boolean => Date.parse(moment) - now.getTime() > MOST_AHEAD_MS;

/**
 * Moments order runs and stocks: behind one that is to come, none of a nearer day would count.
 * @throws PedigreeError `invalid_parameter` that names the field.
 */
export function mustHaveCome(moment: string, now: Date, { field, what }: { field: string; what: string }): void {
  if (!isToCome(moment, now)) return;
  const why = `${what}: its moment ${moment} is to come; nothing of a nearer day would count beside it`;
  throw new PedigreeError('invalid_parameter', why, { field, item: moment });
}
