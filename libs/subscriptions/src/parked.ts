import type { Pool, Queryable, Transaction } from '#postgres';
import type { HeldEvent } from './fold.js';

/**
 * How much of one saga may be parked before the saga halts as a whole: a fault that is everywhere is no matter of
 * single instances.
 */
export interface ParkingLimits {
  instances: number;
  events: number;
}

export const DEFAULT_PARKING_LIMITS: ParkingLimits = { instances: 100, events: 10_000 };
const LONGEST_ERROR = 2_000;
const MOST_LISTED = 1_000;

/** An instance of a saga that does not go on until somebody has it tried again. */
export interface ParkedInstance {
  saga: string;
  /** The instance; `stream:<name>` where it is not known which instances the events of a stream concern. */
  key: string;
  /** The event that it stands at. */
  stream: string;
  version: number;
  position: bigint;
  error: string;
  parkedAt: Date;
  /** Times that the event was tried, and when last. */
  attempts: number;
  triedAt: Date;
  /** Events that wait, the one it stands at included. */
  held: number;
}

/** Where an event stands in the log. */
export interface HeldPlace {
  position: bigint;
  stream: string;
  version: number;
}

/** What is parked, the longest first, at most 1,000. */
export async function parkedInstances(db: Queryable): Promise<ParkedInstance[]> {
  const text = `SELECT p.saga, p.key, p.error, p.parked_at AS "parkedAt", p.attempts, p.tried_at AS "triedAt",
      e.stream, e.version, e.position,
      (SELECT count(*)::int FROM held_event h WHERE h.saga = p.saga AND h.key = p.key) AS held
    FROM parked_instance p CROSS JOIN LATERAL (SELECT stream, version, position FROM held_event h
      WHERE h.saga = p.saga AND h.key = p.key ORDER BY position LIMIT 1) e
    ORDER BY p.parked_at, p.saga, p.key LIMIT ${MOST_LISTED}`;
  return (await db.query<ParkedInstance>(text)).rows;
}

/** How many instances of each saga that has run are parked. */
export async function parkedFigures(pool: Pool): Promise<{ saga: string; instances: number }[]> {
  const text = `SELECT substr(c.name, 6) AS saga, (SELECT count(*)::int FROM parked_instance p
      WHERE p.saga = substr(c.name, 6)) AS instances
    FROM checkpoint c WHERE c.name LIKE 'saga:%' ORDER BY c.name LIMIT ${MOST_LISTED}`;
  return (await pool.query<{ saga: string; instances: number }>(text)).rows;
}

/** The first events that are held for an instance, in the log's order. */
export async function heldPlaces(
  db: Queryable,
  saga: string,
  key: string,
  options: { limit: number },
): Promise<HeldPlace[]> {
  const text =
    'SELECT position, stream, version FROM held_event WHERE saga = $1 AND key = $2 ORDER BY position LIMIT $3';
  return (await db.query<HeldPlace>(text, [saga, key, options.limit])).rows;
}

/**
 * Parks what threw and holds what follows, in the transaction of the page. Throws when that is more than the limits
 * allow: then the page fails, and the subscription halts at this event as a whole.
 */
export async function holdEvents(
  tx: Transaction,
  saga: string,
  held: HeldEvent[],
  options: { limits: ParkingLimits },
): Promise<void> {
  const threw = held.filter((one) => one.error !== undefined);
  await tx.query(
    `INSERT INTO parked_instance (saga, key, error, parked_at, attempts, tried_at)
     SELECT $1, key, error, clock_timestamp(), 1, clock_timestamp() FROM unnest($2::text[], $3::text[]) AS given(key,
       error)`,
    [saga, threw.map((one) => one.key), threw.map((one) => errorText(one.error))],
  );
  await tx.query(
    `INSERT INTO held_event (saga, key, position, stream, version)
     SELECT $1, key, position, stream, version FROM unnest($2::text[], $3::bigint[], $4::text[],
       $5::int[]) AS given(key, position, stream, version)`,
    [
      saga,
      held.map((one) => one.key),
      held.map(({ event }) => event.position),
      held.map(({ event }) => event.stream),
      held.map(({ event }) => event.version),
    ],
  );
  await refuseTooMany(tx, saga, held, options);
}

async function refuseTooMany(
  tx: Transaction,
  saga: string,
  held: HeldEvent[],
  { limits }: { limits: ParkingLimits },
): Promise<void> {
  const text = `SELECT (SELECT count(*)::int FROM parked_instance WHERE saga = $1) AS instances,
    (SELECT count(*)::int FROM (SELECT FROM held_event WHERE saga = $1 LIMIT $2) AS counted) AS events`;
  const { rows } = await tx.query<{ instances: number; events: number }>(text, [saga, limits.events + 1]);
  const { instances = 0, events = 0 } = rows[0] ?? {};
  if (instances <= limits.instances && events <= limits.events) return;
  const cause = held.find((one) => one.error !== undefined)?.error;
  throw new Error(
    `saga ${saga}: more is parked than ${limits.instances} instances with ${limits.events} events in ` +
      `all${cause === undefined ? '' : `; now ${errorText(cause)}`}`,
    { cause },
  );
}

/** What is held for an instance up to a position is held no more. */
export async function dropHeld(tx: Transaction, saga: string, key: string, options: { upTo: bigint }): Promise<void> {
  await tx.query('DELETE FROM held_event WHERE saga = $1 AND key = $2 AND position <= $3', [saga, key, options.upTo]);
}

/** It stands again, here or further on. */
export async function noteStanding(
  tx: Transaction,
  saga: string,
  key: string,
  options: { error: unknown },
): Promise<void> {
  await tx.query(
    'UPDATE parked_instance SET error = $3, attempts = attempts + 1, tried_at = clock_timestamp() WHERE saga = ' +
      '$1 AND key = $2',
    [saga, key, errorText(options.error)],
  );
}

/** Lets the instance go when nothing is held for it any more; false while something is. */
export async function releaseInstance(tx: Transaction, saga: string, key: string): Promise<boolean> {
  const text =
    'DELETE FROM parked_instance p WHERE saga = $1 AND key = $2 AND NOT EXISTS (SELECT FROM held_event h WHERE ' +
    'h.saga = p.saga AND h.key = p.key)';
  return (await tx.query(text, [saga, key])).rowCount === 1;
}

/** PostgreSQL keeps no NUL in a text. */
const errorText = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\0', '\\0').slice(0, LONGEST_ERROR);
