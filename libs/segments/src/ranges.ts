import type { Queryable } from '#postgres';
import { checkpointPosition, projectionCheckpoint } from '#subscriptions';
import type { Range } from './write-files.js';

/** A segment ends with the document with which it has so many rows. */
export const SEGMENT_ROWS = 1_000_000;

const NEXT = `WITH d AS (
  SELECT known_from, recorded_at, sum(greatest(items, 1)) OVER (ORDER BY known_from) AS total,
    lead(recorded_at) OVER (ORDER BY known_from) AS next_at
  FROM movement_document WHERE known_from > $1 AND known_from <= $2 ORDER BY known_from LIMIT $3::bigint + 1
) SELECT known_from AS "to", recorded_at AS "recordedAt" FROM d
  WHERE total >= $3 OR date_trunc('day', next_at) > date_trunc('day', recorded_at) ORDER BY known_from LIMIT 1`;

/**
 * The next range that is complete: it ends with the document with which it has SEGMENT_ROWS rows, or with the last
 * document of a UTC day, which is known once one of a later day has come. Nothing else decides, so that a rebuild finds
 * the same ranges.
 */
export async function nextRange(
  db: Queryable,
  { from, upTo, rows = SEGMENT_ROWS }: { from: bigint; upTo: bigint; rows?: number },
): Promise<(Range & { recordedAt: Date | null }) | undefined> {
  const found = await db.query<{ to: bigint; recordedAt: Date | null }>(NEXT, [from, upTo, rows]);
  const [next] = found.rows;
  return next === undefined ? undefined : { from, ...next };
}

/** All ranges that are complete, one behind the other, and what is left behind them. */
export async function rangesOf(db: Queryable, { from, to }: Range, rows: number): Promise<Range[]> {
  const found: Range[] = [];
  for (let begin = from; ;) {
    const next = await nextRange(db, { from: begin, upTo: to, rows });
    if (next === undefined) return [...found, { from: begin, to }];
    found.push(next);
    begin = next.to;
  }
}

/** Up to where the history of packs knows the log. */
export const historyUpTo = (db: Queryable): Promise<bigint> =>
  checkpointPosition(db, projectionCheckpoint({ name: 'sgtin-history' }));
