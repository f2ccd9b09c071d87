import { NEWEST_RESTORATION_ID } from '#backup';
import type { ApiKeyState } from '#domain';
import type { Queryable, Transaction } from '#postgres';

/**
 * `erp` sends commands and reads; `operator` the same and acts on documents; `auditor` reads; `admin` does everything.
 */
export const ROLES = ['erp', 'operator', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** `suspended`: the database was restored since, and nobody has confirmed the key. */
type KeyStanding = 'valid' | 'suspended' | 'expired' | 'revoked';

/** A key as its row shows it. */
export interface ApiKeyRow {
  name: string;
  keySha256: string;
  roles: Role[];
  standing: KeyStanding;
  madeAt: Date;
  /** Null only in a row that is not in the log yet. */
  expiresAt: Date | null;
  expiredAt: Date | null;
  firstUsedAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  restorationId: string | null;
  /** Version of the last event of the row; null where the log does not know the key yet. */
  version: number | null;
}

const COLUMNS = `name, encode(key_sha256, 'hex') AS "keySha256", roles, created_at AS "madeAt",
    expires_at AS "expiresAt", expired_at AS "expiredAt",
  first_used_at AS "firstUsedAt", last_used_at AS "lastUsedAt", revoked_at AS "revokedAt",
    restoration_id AS "restorationId", version,
  CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expired_at IS NOT NULL
    OR expires_at <= clock_timestamp() THEN 'expired'
       WHEN restoration_id IS DISTINCT FROM ${NEWEST_RESTORATION_ID} THEN 'suspended' ELSE 'valid' END AS standing`;

export async function listKeys(db: Queryable): Promise<ApiKeyRow[]> {
  return (await db.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key ORDER BY name`)).rows;
}

export async function findKey(db: Queryable, name: string): Promise<ApiKeyRow | undefined> {
  return (await db.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE name = $1`, [name])).rows[0];
}

/** The keys of these SHA-256, in their order; undefined where there is none. */
export async function keysByDigest(db: Queryable, digests: string[]): Promise<(ApiKeyRow | undefined)[]> {
  const { rows } = await db.query<ApiKeyRow>({
    name: 'keys-by-digest',
    text: `SELECT ${COLUMNS} FROM api_key WHERE key_sha256 = ANY ($1::bytea[])`,
    values: [digests.map((one) => Buffer.from(one, 'hex'))],
  });
  return digests.map((digest) => rows.find((row) => row.keySha256 === digest));
}

/**
 * Whether calls without a key may be served at all: there never was one. A restored database may have lost those that
 * there were.
 */
export async function wasEverKeyed(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ keyed: boolean }>(
    `SELECT EXISTS (SELECT FROM api_key) OR ${NEWEST_RESTORATION_ID} IS NOT NULL AS keyed`,
  );
  return rows[0]?.keyed !== false;
}

/** Notes a use, unless one was noted within the last minute. */
export async function noteLastUse(db: Queryable, name: string): Promise<void> {
  await db.query(
    'UPDATE api_key SET last_used_at = clock_timestamp() WHERE name = $1 AND coalesce(last_used_at < ' +
      `clock_timestamp() - interval '1 minute', true)`,
    [name],
  );
}

/** The version of the newest event that the table has taken in; -1 when none. */
export async function newestVersion(db: Queryable): Promise<number> {
  return (
    (await db.query<{ version: number }>('SELECT coalesce(max(version), -1) AS version FROM api_key')).rows[0]
      ?.version ?? -1
  );
}

/** As the decider knows it; undefined where the log does not know the key. */
export function stateOf(row: ApiKeyRow | undefined): ApiKeyState | undefined {
  if (row === undefined || row.version === null || row.expiresAt === null) return undefined;
  const { name, keySha256, roles, madeAt, expiresAt, firstUsedAt, revokedAt, expiredAt, restorationId } = row;
  return {
    key: name,
    keySha256,
    roles,
    madeAt: madeAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    ...(firstUsedAt === null ? {} : { firstUsedAt: firstUsedAt.toISOString() }),
    ...(revokedAt === null ? {} : { revokedAt: revokedAt.toISOString() }),
    ...(expiredAt === null ? {} : { expiredAt: expiredAt.toISOString() }),
    ...(restorationId === null ? {} : { restorationId }),
  };
}

/** Held until the transaction ends, so that nobody takes another event into the row meanwhile. */
export async function lockKey(tx: Transaction, name: string): Promise<ApiKeyRow | undefined> {
  return (await tx.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE name = $1 FOR UPDATE`, [name])).rows[0];
}

/**
 * One gateway at a time takes in events; who reads keys goes on. Two that insert the same new key at once fail by its
 * digest: ON CONFLICT guards the name alone.
 */
export async function lockKeys(tx: Transaction): Promise<void> {
  await tx.query('LOCK TABLE api_key IN SHARE ROW EXCLUSIVE MODE');
}

/** Keeps what an event has made of a key, unless the row has taken in that event already. */
export async function saveKey(tx: Transaction, state: ApiKeyState, version: number): Promise<void> {
  const { key, keySha256, roles, madeAt, expiresAt, firstUsedAt, revokedAt, expiredAt, restorationId } = state;
  await tx.query(
    `INSERT INTO api_key (name, key_sha256, roles, created_at, expires_at, first_used_at, revoked_at, expired_at,
        restoration_id, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (name) DO UPDATE SET (roles, created_at, expires_at, first_used_at, revoked_at, expired_at,
       restoration_id, version) =
       (excluded.roles, excluded.created_at, excluded.expires_at, excluded.first_used_at, excluded.revoked_at,
         excluded.expired_at, excluded.restoration_id, excluded.version)
     WHERE coalesce(api_key.version, -1) < excluded.version`,
    [
      key,
      Buffer.from(keySha256, 'hex'),
      roles,
      madeAt,
      expiresAt,
      firstUsedAt ?? null,
      revokedAt ?? null,
      expiredAt ?? null,
      restorationId ?? null,
      version,
    ],
  );
}
