import type { MigrationSet, Queryable } from '#postgres';

export const outcomesSchema: MigrationSet = {
  name: 'gateway-outcomes',
  directory: new URL('./migrations/', import.meta.url),
};

/** A way out for outcomes, as its row stands. Times are the database's. */
export interface DeliveryState {
  name: string;
  position: bigint;
  /** Outcomes that it has still to deliver, counted up to a limit. */
  behind: number;
  /** When the oldest of these was recorded. */
  oldestWaitingAt: Date | null;
  failures: number;
  /** When the first of these failures was: nothing was taken since. */
  failingSince: Date | null;
  lastError: string | null;
  nextAttemptAt: Date | null;
  haltedAt: Date | null;
  updatedAt: Date;
  /** Whether some process works on it now. */
  running: boolean;
}

/** The right to deliver, until the lease runs out. */
export interface Turn {
  position: bigint;
  failures: number;
}

/** A bus, as the row of its delivery names it. */
export type BusKind = 'amqp' | 'embedded';

const MOST_COUNTED = 10_000;
/** So long after the last turn of a gateway with RabbitMQ one without it publishes nothing: a restart takes less. */
export const AMQP_GONE_MINUTES = 10;
const STANDS_BACK = `($4::text = 'embedded' AND via = 'amqp'
  AND held_until > clock_timestamp() - interval '${AMQP_GONE_MINUTES} minutes') IS TRUE`;

/** Makes the row where there is none. It begins after `position`. */
export async function openDelivery(db: Queryable, name: string, position: bigint): Promise<void> {
  await db.query('INSERT INTO outcome_delivery (name, position) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    name,
    position,
  ]);
}

/**
 * Takes the turn, or keeps it. `waitMs`: for so long nothing may be done, because another process has it, it failed, or
 * it is halted (for ever). Never 0: what has nothing to wait for asks again in its own time. `lagMs` is waited beyond
 * the next attempt. A gateway without RabbitMQ among others with it would take outcomes from the ERP's queues: it
 * stands back, and gives its turn up to them.
 */
export async function takeTurn(
  db: Queryable,
  name: string,
  lease: { holder: string; leaseMs: number; via?: BusKind | undefined; lagMs: number },
): Promise<Turn | { waitMs: number; isElsewhere: boolean; standsBack: boolean }> {
  const { rows } = await db.query<Turn>({
    name: 'outcome-turn',
    text: `UPDATE outcome_delivery SET holder = $2, held_until = clock_timestamp() + $3 * interval '1 millisecond',
             via = $4::text
           WHERE name = $1 AND halted_at IS NULL
             AND (next_attempt_at IS NULL OR next_attempt_at + $5 * interval '1 millisecond' <= clock_timestamp())
             AND CASE
               WHEN $4::text = 'amqp' AND via = 'embedded' THEN true
               WHEN ${STANDS_BACK} THEN false
               ELSE holder = $2 OR holder IS NULL OR held_until < clock_timestamp() END
           RETURNING position, failures`,
    values: [name, lease.holder, lease.leaseMs, lease.via, lease.lagMs],
  });
  if (rows[0] !== undefined) return rows[0];
  const waits = await db.query<{ wait_ms: number | null; is_elsewhere: boolean; stands_back: boolean }>({
    name: 'outcome-turn-wait',
    text: `SELECT CASE WHEN halted_at IS NULL THEN extract(epoch FROM greatest(
        next_attempt_at + $3 * interval '1 millisecond', CASE
        WHEN holder <> $2 THEN held_until END) - clock_timestamp())::float8 * 1000 END AS wait_ms,
             coalesce(holder <> $2 AND held_until > clock_timestamp(), false) AS is_elsewhere,
             ${STANDS_BACK} AS stands_back
           FROM outcome_delivery WHERE name = $1`,
    values: [name, lease.holder, lease.lagMs, lease.via],
  });
  const [row] = waits.rows;
  const waitMs = row?.wait_ms ?? 0;
  return {
    waitMs: waitMs > 0 ? waitMs : Infinity,
    isElsewhere: row?.is_elsewhere === true,
    standsBack: row?.stands_back === true,
  };
}

/**
 * Moves the cursor after a confirm, if the turn is still ours. False: another has taken over, and delivers from where
 * the cursor stood.
 */
export async function moveCursor(
  db: Queryable,
  name: string,
  move: { holder: string; from: bigint; to: bigint },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'outcome-cursor',
    text: `UPDATE outcome_delivery SET position = $4, failures = 0, failing_since = NULL, last_error = NULL,
        next_attempt_at = NULL, updated_at = clock_timestamp()
           WHERE name = $1 AND holder = $2 AND position = $3`,
    values: [name, move.holder, move.from, move.to],
  });
  return rowCount === 1;
}

/**
 * Notes that a delivery failed, and until when to wait; `halt` gives it up. The turn ends with it: another process may
 * have a way there that this one lacks.
 */
export async function noteFailure(
  db: Queryable,
  name: string,
  failure: { holder: string; error: string; retryInMs: number; halt: boolean },
): Promise<void> {
  await db.query({
    name: 'outcome-failure',
    text: `UPDATE outcome_delivery SET failures = failures + 1, last_error = $3, updated_at = clock_timestamp(),
             failing_since = coalesce(failing_since, clock_timestamp()),
             next_attempt_at = clock_timestamp() + $4 * interval '1 millisecond', halted_at = CASE
               WHEN $5 THEN clock_timestamp() END, holder = NULL, held_until = clock_timestamp()
           WHERE name = $1 AND holder = $2`,
    values: [name, failure.holder, failure.error.slice(0, 1_000), failure.retryInMs, failure.halt],
  });
}

/** Lets go of the turn, so that whoever stands by need not wait for the lease to run out. When it was held is kept. */
export async function releaseTurn(db: Queryable, name: string, holder: string): Promise<void> {
  await db.query(
    'UPDATE outcome_delivery SET holder = NULL, held_until = clock_timestamp() WHERE name = $1 AND holder = $2',
    [name, holder],
  );
}

/** Every way out, by name. */
export async function deliveries(db: Queryable): Promise<DeliveryState[]> {
  const { rows } = await db.query<DeliveryState>(
    `SELECT name, position, failures, failing_since AS "failingSince", last_error AS "lastError",
        next_attempt_at AS "nextAttemptAt", halted_at AS "haltedAt", updated_at AS "updatedAt",
       (SELECT recorded_at FROM outcome_event e WHERE e.position > d.position ORDER BY e.position
         LIMIT 1) AS "oldestWaitingAt",
       (SELECT count(*)::integer FROM (SELECT FROM outcome_event e WHERE e.position > d.position
         LIMIT $1) AS next) AS behind,
       coalesce(held_until > clock_timestamp(), false) AS running
     FROM outcome_delivery d ORDER BY name LIMIT 1000`,
    [MOST_COUNTED],
  );
  return rows;
}

/** How far each way out has come. */
export async function deliveryCursors(db: Queryable): Promise<{ name: string; position: bigint }[]> {
  const { rows } = await db.query<{ name: string; position: bigint }>(
    `SELECT 'outcomes to ' || name AS name, position FROM outcome_delivery ORDER BY name LIMIT 1000`,
  );
  return rows;
}

/** The furthest that any way out has come; 0 while there is none. */
export async function furthestDelivered(db: Queryable): Promise<bigint> {
  const { rows } = await db.query<{ position: bigint | null }>(
    'SELECT max(position) AS position FROM outcome_delivery',
  );
  return rows[0]?.position ?? 0n;
}

/**
 * Up to which position everything was delivered by every way out, those that have halted too. Undefined while there is
 * none.
 */
export async function deliveredByAll(db: Queryable): Promise<bigint | undefined> {
  const { rows } = await db.query<{ position: bigint | null }>(
    'SELECT min(position) AS position FROM outcome_delivery',
  );
  return rows[0]?.position ?? undefined;
}
