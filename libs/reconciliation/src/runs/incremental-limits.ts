import { z } from 'zod';
import { firstFault, PedigreeError, PLAIN_WORDS } from '#kernel';

export const MOST_LIMIT_HOURS = 8_760;
/** What is meant where somebody does not say. */
export const USUAL_LIMITS = { fullEveryHours: 168, rowHours: 168, overlapHours: 24 };

const hours = z.number().int().min(0).max(MOST_LIMIT_HOURS);
const limits = z.strictObject({
  /** So long after a run that has asked the registry about all, the next one asks about all again. */
  fullEveryHours: hours.default(USUAL_LIMITS.fullEveryHours),
  /** An answer that is older is asked for again. */
  rowHours: hours.default(USUAL_LIMITS.rowHours),
  /** Packs that moved so long before the earlier run are listed again: clocks differ, and documents come late. */
  overlapHours: hours.default(USUAL_LIMITS.overlapHours),
});

/** How far a run may stand on what an earlier one has read. */
export type IncrementalLimits = z.infer<typeof limits>;

/** @throws PedigreeError `invalid_parameter` that names the field. */
export function incrementalLimits(value: unknown): IncrementalLimits {
  const parsed = limits.safeParse(value, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message } = firstFault(parsed.error);
  const field = path.join('.');
  throw new PedigreeError('invalid_parameter', `incremental: ${field} ${message}`, { field });
}
