import { PedigreeError } from '#kernel';
import type { MigrationSet, Queryable } from '#postgres';

export const restorationSchema: MigrationSet = {
  name: 'restoration',
  directory: new URL('./migrations/', import.meta.url),
};

export type RestorationState = 'loading' | 'comparing' | 'released';

/** A restore of a backup into this database; a row of `restoration`. */
export interface Restoration {
  id: string;
  state: RestorationState;
  backupSha256: string | null;
  takenAt: Date;
  logHead: bigint | null;
  restoredBy: string;
  begunAt: Date;
  loadedAt: Date | null;
  releasedAt: Date | null;
}

const COLUMNS = `id, state, backup_sha256 AS "backupSha256", taken_at AS "takenAt", log_head AS "logHead", restored_by \
AS "restoredBy",
  begun_at AS "begunAt", loaded_at AS "loadedAt", released_at AS "releasedAt"`;

/** For the statements of others: the id of the newest restoration, null where the database was never restored. */
export const NEWEST_RESTORATION_ID = '(SELECT id FROM restoration ORDER BY begun_at DESC LIMIT 1)';

/** The newest restoration of this database, if it ever was restored. */
export async function newestRestoration(db: Queryable): Promise<Restoration | undefined> {
  const { rows: there } = await db.query<{ there: boolean }>(`SELECT to_regclass('restoration') IS NOT NULL AS there`);
  if (there[0]?.there !== true) return undefined;
  const { rows } = await db.query<Restoration>(`SELECT ${COLUMNS} FROM restoration ORDER BY begun_at DESC LIMIT 1`);
  return rows[0];
}

/**
 * Before a program touches the database: one into which a backup was loaded in part must not be taken for a whole one.
 * Throws PedigreeError.
 */
export async function refuseUnfinishedRestore(db: Queryable): Promise<void> {
  const newest = await newestRestoration(db);
  if (newest?.state !== 'loading') return;
  const message =
    `DATABASE_URL: a restore that was begun at ${newest.begunAt.toISOString()} is unfinished; run pedigree restore ` +
    'again with the same file';
  throw new PedigreeError('invalid_configuration', message, { field: 'DATABASE_URL' });
}

/** For so long after a restoration an account may come to be served of which the backup knew nothing. */
const LATE_ACCOUNT_DAYS = 30;

/**
 * When the oldest of the backups was taken that this database was restored from lately: what was sent since then may
 * not be known here. Undefined where it was not restored, or long ago.
 */
export async function unknownSince(db: Queryable): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    `SELECT min(taken_at) AS at FROM restoration
     WHERE coalesce(released_at, 'infinity') > clock_timestamp() - $1::int * interval '1 day'`,
    [LATE_ACCOUNT_DAYS],
  );
  return rows[0]?.at ?? undefined;
}

/** How far each document list was read since a restoration. */
interface ListSince {
  account: string;
  list: string;
  /** Read to its end since then, and given in full. */
  isRead: boolean;
  problem: string | null;
  /** Up to where it was read; null where it was never read at all. */
  since: Date | null;
}

/** The lists of this database and those of `accounts`, which may never have been read, by account. */
export async function listsSince(
  db: Queryable,
  { loadedAt }: Pick<Restoration, 'loadedAt'>,
  accounts: string[] = [],
): Promise<ListSince[]> {
  const { rows } = await db.query<ListSince>(
    `SELECT account, list, since, problem, coalesce(read_at >= $1 AND problem IS NULL, false) AS "isRead"
     FROM list_cursor FULL JOIN (SELECT account, list FROM unnest($2::text[]) AS a (account), (VALUES ('incoming'),
       ('outgoing')) AS l (list)) AS wanted USING (account, list)
     ORDER BY account, list`,
    [loadedAt, accounts],
  );
  return rows;
}

/** So long a restored database may hold everything back before it is an alarm. */
const LONGEST_HOLD_MS = 15 * 60_000;

/**
 * Where a restored database has held back for too long: since when, for which lists, why, and what can be done.
 * Undefined while all is well.
 */
export async function heldTooLong(
  db: Queryable,
  accounts: string[],
  longestMs = LONGEST_HOLD_MS,
): Promise<string | undefined> {
  const newest = await newestRestoration(db);
  if (newest?.state !== 'comparing' || newest.loadedAt === null) return undefined;
  const { rows } = await db.query<{ late: boolean }>(
    `SELECT $1 < clock_timestamp() - $2 * interval '1 millisecond' AS late`,
    [newest.loadedAt, longestMs],
  );
  if (rows[0]?.late !== true) return undefined;
  const unread = (await listsSince(db, newest, accounts)).filter((one) => !one.isRead);
  const lists = unread
    .map(
      ({ account, list, problem }) =>
        `the ${list} list of account ${account} (${problem ?? 'not read to its end yet'})`,
    )
    .join(', ');
  return (
    `a backup was restored, and since ${newest.loadedAt.toISOString()} nothing leaves for the registry, because ` +
    `these lists were not read: ${lists}. ` +
    'pedigree restore --status shows them; pedigree restore --release --reason TEXT goes on without them'
  );
}

/**
 * Documents that lists have shown for the first time between a restoration and its release: what the registry knew and
 * this database did not.
 */
export async function foundSince(
  db: Queryable,
  { id }: Pick<Restoration, 'id'>,
): Promise<{ incoming: number; outgoing: number }> {
  // By the moments of the row: a Date has no microseconds, and a document may be seen in the millisecond of a release.
  const { rows } = await db.query<{ incoming: bigint; outgoing: bigint }>(
    `SELECT count(*) FILTER (WHERE direction = 'incoming') AS incoming,
       count(*) FILTER (WHERE direction = 'outgoing') AS outgoing
     FROM registry_document, restoration r
     WHERE r.id = $1 AND seen_at >= loaded_at AND (seen_at <= released_at) IS NOT FALSE`,
    [id],
  );
  return { incoming: Number(rows[0]?.incoming ?? 0n), outgoing: Number(rows[0]?.outgoing ?? 0n) };
}

/** Lets documents leave again. False: somebody else did so before. */
export async function releaseRestoration(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE restoration SET state = 'released', released_at = clock_timestamp() WHERE id = $1 AND state = 'comparing'`,
    [id],
  );
  return rowCount === 1;
}

/**
 * Notes that this database was brought back to an earlier state by other means, so that it is treated like a restored
 * one.
 */
export async function markRestored(
  db: Queryable,
  { takenAt, by }: { takenAt: Date; by: string },
): Promise<Restoration> {
  const open = await newestRestoration(db);
  if (open !== undefined && open.state !== 'released')
    throw new PedigreeError('invalid_parameter', `this database has a restoration that is ${open.state} already`, {
      item: open.id,
    });
  await db.query('UPDATE list_cursor SET read_at = NULL');
  const { rows } = await db.query<Restoration>(
    `INSERT INTO restoration (state, taken_at, restored_by, loaded_at) VALUES ('comparing', $1, $2, ` +
      `clock_timestamp()) RETURNING ${COLUMNS}`,
    [takenAt, by],
  );
  return rows[0] as Restoration;
}
