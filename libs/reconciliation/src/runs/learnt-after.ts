import { Duck, parquet, type DuckOptions } from '#duckdb';
import type { Queryable } from '#postgres';
import { bucketFiles } from '../snapshots/manifest.js';

/**
 * Log position of the first document that our record has learnt after a moment (ISO 8601), up to position `at`;
 * undefined: none since. When a document was learnt is when the log recorded its end, whatever it claims. Times of the
 * log go forward with its positions, so the first by moment is the one of the lowest position, too.
 */
export async function firstLearntAfter(
  db: Queryable,
  { moment, at }: { moment: string; at: bigint },
): Promise<string | undefined> {
  const { rows } = await db.query<{ first: bigint }>(
    'SELECT known_from AS first FROM movement_document WHERE recorded_at > $1 ORDER BY recorded_at, known_from LIMIT 1',
    [moment],
  );
  const first = rows[0]?.first;
  return first === undefined || first > at ? undefined : first.toString();
}

/** The oldest moment of the rows of a snapshot, ISO 8601; undefined: it has no row. */
export async function oldestMoment(snapshot: string, options: DuckOptions): Promise<string | undefined> {
  const duck = await Duck.open(options);
  try {
    const [found] = await duck.rows<{ oldest: bigint | null }>(
      `SELECT min(moment) AS oldest FROM ${parquet(bucketFiles(snapshot))}`,
    );
    const oldest = found?.oldest ?? null;
    return oldest === null ? undefined : new Date(Number(oldest)).toISOString();
  } finally {
    await duck.close();
  }
}
