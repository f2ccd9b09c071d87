import type { EventStore } from '#event-store';
import type { Pool, Queryable } from '#postgres';

/** A checkpoint as one process sees it. */
interface Checkpoint {
  position: bigint;
  /**
   * For how long another process still holds the subscription; 0 when it is free or ours. Milliseconds by the
   * database's clock.
   */
  heldByOtherMs: number;
  /** When it was read, by the database's clock. */
  at: Date;
}

interface CheckpointRow {
  position: bigint;
  held_ms: number | null;
  at: Date;
}

const HELD_MS =
  'CASE WHEN holder IS DISTINCT FROM $2 THEN greatest(0, extract(epoch FROM held_until - clock_timestamp()) * ' +
  '1000)::float8 END AS held_ms, clock_timestamp() AS at';
const toCheckpoint = (row: CheckpointRow): Checkpoint => ({
  position: row.position,
  heldByOtherMs: row.held_ms ?? 0,
  at: row.at,
});

/** Reads the checkpoint without a lock, and makes it, at 0, where there is none. */
export async function openCheckpoint(db: Queryable, name: string, holder: string): Promise<Checkpoint> {
  const read = {
    name: 'checkpoint-read',
    text: `SELECT position, ${HELD_MS} FROM checkpoint WHERE name = $1`,
    values: [name, holder],
  };
  const [there] = (await db.query<CheckpointRow>(read)).rows;
  if (there !== undefined) return toCheckpoint(there);
  await db.query(
    'INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, 0, clock_timestamp()) ON CONFLICT DO NOTHING',
    [name],
  );
  const [made] = (await db.query<CheckpointRow>(read)).rows;
  if (made === undefined) throw new Error(`the checkpoint of ${name} was removed while it was made`);
  return toCheckpoint(made);
}

/**
 * Locks the checkpoint until the end of the transaction. `undefined` when another transaction has it (unless `waits`)
 * or it does not exist.
 */
export async function lockCheckpoint(
  tx: Queryable,
  name: string,
  options: { holder: string; waits: boolean },
): Promise<Checkpoint | undefined> {
  const { rows } = await tx.query<CheckpointRow>({
    name: options.waits ? 'checkpoint-wait' : 'checkpoint-lock',
    text: `SELECT position, ${HELD_MS} FROM checkpoint WHERE name = $1 FOR UPDATE
        ${options.waits ? '' : 'SKIP LOCKED'}`,
    values: [name, options.holder],
  });
  return rows[0] && toCheckpoint(rows[0]);
}

/** Moves the locked checkpoint, and holds the subscription for another while. */
export async function moveCheckpoint(
  tx: Queryable,
  name: string,
  to: { position: bigint; holder: string; leaseMs: number },
): Promise<void> {
  await tx.query({
    name: 'checkpoint-move',
    text:
      'UPDATE checkpoint SET position = $2, holder = $3, updated_at = clock_timestamp(), held_until = ' +
      `clock_timestamp() + $4 * interval '1 millisecond' WHERE name = $1`,
    values: [name, to.position, to.holder, to.leaseMs],
  });
}

/** Lets go of the subscription, so that whoever stands by need not wait for the lease to run out. */
export async function releaseCheckpoint(db: Queryable, name: string, holder: string): Promise<void> {
  await db.query('UPDATE checkpoint SET holder = NULL, held_until = NULL WHERE name = $1 AND holder = $2', [
    name,
    holder,
  ]);
}

/** Forgets how far a subscription came: a runner that is under way begins again at 0. */
export async function dropCheckpoint(pool: Queryable, name: string): Promise<void> {
  await pool.query('DELETE FROM checkpoint WHERE name = $1', [name]);
}

/** Where a subscription stands; 0 where it has not begun. */
export async function checkpointPosition(db: Queryable, name: string): Promise<bigint> {
  const { rows } = await db.query<{ position: bigint }>('SELECT position FROM checkpoint WHERE name = $1', [name]);
  return rows[0]?.position ?? 0n;
}

export interface SubscriptionLag {
  name: string;
  position: bigint;
  /** How far the checkpoint is behind the head of the log, in `unit`. */
  lag: bigint;
  /** What `lag` counts: events, or bytes of the log where positions count those. */
  unit: EventStore['positionUnit'];
  /** When the checkpoint last moved. */
  updatedAt: Date;
}

/** How far each subscription is behind the log, by name. */
export async function subscriptionLag(pool: Pool, store: EventStore): Promise<SubscriptionLag[]> {
  // The head is read last, so that a checkpoint cannot be ahead of it.
  const { rows } = await pool.query<{ name: string; position: bigint; updated_at: Date }>(
    'SELECT name, position, updated_at FROM checkpoint ORDER BY name LIMIT 1000',
  );
  const head = await store.head();
  // A log on a server may end with events of the server itself, which a checkpoint passes and the head does not count.
  const lagOf = (position: bigint): bigint => (position < head ? head - position : 0n);
  return rows.map(({ name, position, updated_at: updatedAt }) => ({
    name,
    position,
    lag: lagOf(position),
    unit: store.positionUnit,
    updatedAt,
  }));
}
