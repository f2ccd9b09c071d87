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

/** How far the states of packs are, and for how long they have stood there, by the database's clock. */
export interface RecordStanding {
  position: bigint;
  stillMs: number;
}

const STANDING = `SELECT position, extract(epoch FROM clock_timestamp() - updated_at)::float8 * 1000 AS "stillMs"
  FROM checkpoint WHERE name = $1`;

/** A record that has not begun has stood still for no time. */
export async function recordStanding(db: Queryable): Promise<RecordStanding> {
  const values = [projectionCheckpoint({ name: 'sgtin-history' })];
  const { rows } = await db.query<RecordStanding>({ name: 'record-standing', text: STANDING, values });
  return rows[0] ?? { position: 0n, stillMs: 0 };
}

export const knownUpTo = async (db: Queryable): Promise<bigint> => (await ageOfRecord(db)).knownAt;
