import type { NewDocuments } from '#registry-client';

/** Registries and their hosts have wrong clocks and zones, by hours. What is dated further ahead is not a date. */
const MOST_AHEAD_MS = 24 * 3_600_000;

/**
 * Where the next reading begins. One entry that is dated years ahead must not move the cursor there: it never goes
 * back, and everything that came until then would be passed over in silence.
 */
export function plausibleSince(
  { cursor, documents }: Pick<NewDocuments, 'cursor' | 'documents'>,
  { since, now }: { since: string; now: Date },
): string {
  const latestMs = now.getTime() + MOST_AHEAD_MS;
  if (Date.parse(cursor.since) <= latestMs) return cursor.since;
  const times = documents.map(({ receivedAt }) => Date.parse(receivedAt ?? '')).filter((time) => time <= latestMs);
  return new Date(Math.max(Date.parse(since), ...times)).toISOString();
}
