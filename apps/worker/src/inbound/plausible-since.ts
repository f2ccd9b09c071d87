import type { NewDocuments } from '#registry-client';

/**
 * Where the next reading begins: at what this one has seen, and never later than it began itself. Registries and their
 * hosts have wrong clocks and zones. An entry that is dated ahead must not move the cursor there: what comes until then
 * would lie before it, and be passed over in silence. Until its time has come each reading shows it again.
 */
export function plausibleSince({ cursor }: Pick<NewDocuments, 'cursor'>, startedAt: Date): string {
  return Date.parse(cursor.since) <= startedAt.getTime() ? cursor.since : startedAt.toISOString();
}
