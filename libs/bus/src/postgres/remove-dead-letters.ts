import type { Queryable } from '#postgres';
import type { DeadLetterSummary } from '../port.js';
import { REMOVE_LETTERS } from './statements.js';

/**
 * Removes at most `limit` dead letters of the embedded bus that are older than so many days, the oldest first, and says
 * which they were.
 */
export async function removeDeadLetters(
  db: Queryable,
  { keptDays, limit }: { keptDays: number; limit: number },
): Promise<Pick<DeadLetterSummary, 'id' | 'code' | 'deadAt'>[]> {
  const { rows } = await db.query<Pick<DeadLetterSummary, 'id' | 'code' | 'deadAt'>>(REMOVE_LETTERS, [keptDays, limit]);
  return rows;
}
