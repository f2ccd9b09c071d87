import type { JsonObject } from '#kernel';
import type { Queryable, Transaction } from '#postgres';
import type { DependentOfKey, NewDependent } from './fold.js';

export async function storeDependents(tx: Transaction, saga: string, rows: DependentOfKey[]): Promise<void> {
  const text = `INSERT INTO saga_dependent (saga, key, dependent, data) SELECT $1, key, dependent, data
      FROM unnest($2::text[], $3::text[], $4::text[]) AS given(key, dependent, data)
    ON CONFLICT (saga, key, dependent) DO NOTHING`;
  const values = [
    saga,
    rows.map((row) => row.key),
    rows.map((row) => row.dependent),
    rows.map((row) => JSON.stringify(row.data)),
  ];
  await tx.query({ name: 'saga-dependent-store', text, values });
}

export async function removeDependents(tx: Transaction, saga: string, dependents: string[]): Promise<void> {
  await tx.query({
    name: 'saga-dependent-remove',
    text: 'DELETE FROM saga_dependent WHERE saga = $1 AND dependent = ANY ($2::text[])',
    values: [saga, dependents],
  });
}

/** Which of these instances somebody waits for: one probe of the primary key each, however many wait. */
export const AWAITED_AMONG = `SELECT key FROM unnest($2::text[]) AS asked(key)
  WHERE EXISTS (SELECT FROM saga_dependent AS waiting WHERE waiting.saga = $1 AND waiting.key = asked.key)`;

export async function awaitedAmong(tx: Transaction, saga: string, keys: string[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ key: string }>({
    name: 'saga-dependent-awaited',
    text: AWAITED_AMONG,
    values: [saga, keys],
  });
  return new Set(rows.map((row) => row.key));
}

/** A page of those that wait for an instance, in the order of their keys. */
export const DEPENDENTS_PAGE =
  'SELECT dependent, data FROM saga_dependent WHERE saga = $1 AND key = $2 AND dependent > $3 ORDER BY dependent ' +
  'LIMIT $4';

/**
 * Who waits for an instance, at most `limit`, beyond `after` ('' for the first page). Rows come and go meanwhile; the
 * key is the cursor, so that none that stays is left out.
 */
export async function dependentsOf(
  db: Queryable,
  of: { saga: string; key: string },
  { after, limit }: { after: string; limit: number },
): Promise<NewDependent[]> {
  const { rows } = await db.query<{ dependent: string; data: string }>({
    name: 'saga-dependent-page',
    text: DEPENDENTS_PAGE,
    values: [of.saga, of.key, after, limit],
  });
  return rows.map(({ dependent, data }) => ({ dependent, data: JSON.parse(data) as JsonObject }));
}
