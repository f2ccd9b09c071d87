import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { systemClock, type Clock } from '#kernel';
import { databaseIsAway, type MigrationSet, type Pool, type Queryable } from '#postgres';

/** The table in which processes say that they are there. */
export const serviceSchema: MigrationSet = { name: 'service', directory: new URL('./migrations/', import.meta.url) };

/** How a subscription to the log stands in one process. */
export interface ProcessSubscription {
  name: string;
  state: 'running' | 'standing_by' | 'halted';
  /** Of one that halted: since when (ISO 8601), where and why. */
  since?: string;
  reason?: string;
}

/** A process of a program, as it said itself. */
export interface ProgramProcess {
  program: string;
  /** Host and number. */
  process: string;
  startedAt: Date;
  seenAt: Date;
  /** For how long it has said nothing, by the database's clock. */
  silentMs: number;
  /** After an ordered stop. */
  stoppedAt: Date | undefined;
  subscriptions: ProcessSubscription[];
}

export interface PresenceOptions {
  pool: Pool;
  program: string;
  signal: AbortSignal;
  log: { warn(about: object, message: string): void };
  subscriptions?: () => ProcessSubscription[];
  clock?: Clock;
}

const BEAT_EVERY_MS = 5_000;
/** The first beat comes before the subscriptions have begun. */
const SECOND_BEAT_MS = 1_000;
/**
 * A process that has said nothing for so long is taken for gone. Several beats may be late: a busy machine, a database
 * that was away.
 */
export const SILENT_LIMIT_MS = 30_000;
/**
 * Rows of processes that are gone make room for a later process of their program. The newest of a program thus stays,
 * however old.
 */
const FORGOTTEN_AFTER = "interval '10 minutes'";

/**
 * Says every few seconds that this process is there, until `signal`, and then that it stopped. Never rejects: a beat
 * that fails is made up for by the next.
 */
export async function announcePresence({
  pool,
  program,
  signal,
  log,
  subscriptions = () => [],
  clock = systemClock,
}: PresenceOptions): Promise<void> {
  const id = randomUUID();
  const tried = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((err: unknown) => {
      // A database that is away is told by readiness.
      if (!databaseIsAway(err)) log.warn({ err }, 'could not record this process as alive');
    });
  };
  await tried(forgetGone(pool, program));
  for (let beats = 0; !signal.aborted; beats += 1) {
    await tried(beat(pool, { id, program, subscriptions: subscriptions() }));
    await clock.wait(beats === 0 ? SECOND_BEAT_MS : BEAT_EVERY_MS, signal);
  }
  await tried(pool.query('UPDATE program_process SET stopped_at = clock_timestamp() WHERE id = $1', [id]));
}

const forgetGone = (pool: Pool, program: string): Promise<unknown> =>
  pool.query(`DELETE FROM program_process WHERE program = $1 AND seen_at < clock_timestamp() - ${FORGOTTEN_AFTER}`, [
    program,
  ]);

async function beat(
  pool: Pool,
  { id, program, subscriptions }: { id: string; program: string; subscriptions: ProcessSubscription[] },
): Promise<void> {
  const text = `INSERT INTO program_process (id, program, process, started_at, seen_at, subscriptions) VALUES ($1, $2,
      $3, clock_timestamp(), clock_timestamp(), $4)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, subscriptions = excluded.subscriptions`;
  await pool.query(text, [id, program, `${hostname()}:${process.pid}`, JSON.stringify(subscriptions)]);
}

const MOST_LISTED = 1_000;

/** The processes of every program, the newest first: those that are there, and those that were. */
export async function programProcesses(db: Queryable): Promise<ProgramProcess[]> {
  const { rows } = await db.query<
    Omit<ProgramProcess, 'subscriptions' | 'stoppedAt'> & { stoppedAt: Date | null; subscriptions: string }
  >(
    `SELECT program, process, started_at AS "startedAt", seen_at AS "seenAt", stopped_at AS "stoppedAt", subscriptions,
       greatest(0, extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS "silentMs"
     FROM program_process ORDER BY started_at DESC, id LIMIT ${MOST_LISTED}`,
  );
  return rows.map(({ stoppedAt, subscriptions, ...row }) => ({
    ...row,
    stoppedAt: stoppedAt ?? undefined,
    subscriptions: JSON.parse(subscriptions) as ProcessSubscription[],
  }));
}

export const isThere = ({ silentMs, stoppedAt }: Pick<ProgramProcess, 'silentMs' | 'stoppedAt'>): boolean =>
  stoppedAt === undefined && silentMs < SILENT_LIMIT_MS;
