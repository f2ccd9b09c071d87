import type { Queryable } from '#postgres';

/** An event as its row stands in the table, its bytes unread. */
export interface StoredEvent {
  position: bigint;
  stream: string;
  version: number;
  id: string;
  type: string;
  schemaVersion: number;
  data: Buffer;
  metadata: Buffer;
  recordedAt: Date;
}

const READ = `SELECT position, stream, version, id, type, schema_version AS "schemaVersion", data, metadata,
    recorded_at AS "recordedAt"
  FROM event WHERE position > $1 ORDER BY position LIMIT $2`;

/**
 * The events of the PostgreSQL log after a position, as they are stored: nothing is read into them, so that a row whose
 * bytes are no JSON any more comes too. For whoever holds the log against what was signed.
 */
export async function readStored(db: Queryable, after: bigint, limit: number): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>({ name: 'event-read-stored', text: READ, values: [after, limit] });
  return rows;
}

/** Events at positions that the log never gives: no reader of the log comes by, but readers of a stream get them. */
export async function strayEvents(
  db: Queryable,
  limit: number,
): Promise<Pick<StoredEvent, 'position' | 'stream' | 'version' | 'type'>[]> {
  const { rows } = await db.query<Pick<StoredEvent, 'position' | 'stream' | 'version' | 'type'>>(
    'SELECT position, stream, version, type FROM event WHERE position < 1 ORDER BY position LIMIT $1',
    [limit],
  );
  return rows;
}

/** Which event is of which stream, of the same events and in their order: for whoever only counts them. */
export async function readStoredStreams(
  db: Queryable,
  after: bigint,
  limit: number,
): Promise<Pick<StoredEvent, 'position' | 'stream'>[]> {
  const { rows } = await db.query<Pick<StoredEvent, 'position' | 'stream'>>({
    name: 'event-read-stored-streams',
    text: 'SELECT position, stream FROM event WHERE position > $1 ORDER BY position LIMIT $2',
    values: [after, limit],
  });
  return rows;
}

/** The position that the next event follows, and the newest one there is: equal in a log that nobody touched. */
export async function storedHeads(db: Queryable): Promise<{ counter: bigint; newest: bigint }> {
  const { rows } = await db.query<{ counter: bigint; newest: bigint }>(
    `SELECT coalesce((SELECT position FROM event_counter), -1) AS counter,
       (SELECT coalesce(max(position), 0) FROM event) AS newest`,
  );
  return rows[0] as { counter: bigint; newest: bigint };
}
