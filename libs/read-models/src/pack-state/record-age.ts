import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';

const AGE = `SELECT coalesce((SELECT position FROM checkpoint WHERE name = $1), 0) AS position,
  (SELECT max(accepted_at) FROM (SELECT accepted_at FROM movement_document
    ORDER BY ordered_at DESC LIMIT 100) AS newest) AS accepted`;

/** Up to which log position the state of packs is told, and the newest acceptance by the registry in it. */
export async function ageOfRecord(db: Queryable): Promise<{ knownAt: bigint; newestAcceptedAt: Date | null }> {
  const { rows } = await db.query<{ position: bigint; accepted: Date | null }>({
    ...{ name: 'age-of-record', text: AGE, values: [projectionCheckpoint({ name: 'sgtin-history' })] },
  });
  return { knownAt: rows[0]?.position ?? 0n, newestAcceptedAt: rows[0]?.accepted ?? null };
}

const KNOWN_UP_TO = 'SELECT position FROM checkpoint WHERE name = $1';

/** The position alone. */
export async function knownUpTo(db: Queryable): Promise<bigint> {
  const values = [projectionCheckpoint({ name: 'sgtin-history' })];
  const { rows } = await db.query<{ position: bigint }>({ name: 'record-position', text: KNOWN_UP_TO, values });
  return rows[0]?.position ?? 0n;
}
