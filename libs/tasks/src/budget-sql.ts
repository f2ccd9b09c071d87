/**
 * The statements of the call budgets. Moments are `clock_timestamp()`, read while the row is locked, so that callers of
 * all processes queue in the order in which they got the row. Slots and the present moment are answered as Unix ms with
 * fractions.
 */

/** On which a 429 is told to all processes. */
export const BUDGET_CHANNEL = 'pedigree_call_budget';

/**
 * A guard shrinks by 1 ms after so many calls without a 429; a learnt interval by a twentieth after five times as many.
 */
const CALLS_TO_RELAX = 100;
/** A 429 within so many calls of the last one follows it: the back-off doubles. */
const CALLS_TO_CALM = 10;

const INTERVAL = 'greatest($3::float8, coalesce(b.learnt_interval_ms, 0))';
const STEP = `(CASE WHEN ${INTERVAL} > 0 THEN ${INTERVAL} + $4::float8 + b.extra_guard_ms ELSE 0
    END * interval '1 ms')`;
const NOW_AND_LEAD = `(clock_timestamp() + $5::float8 * interval '1 ms')`;
const FREE_AT =
  'CASE WHEN b.reservation = $6::bigint THEN least(b.next_allowed_at, to_timestamp($7::float8 / 1000)) ELSE ' +
  'b.next_allowed_at END';

const ANSWER =
  'b.reservation, b.learnt_interval_ms, b.extra_guard_ms, extract(epoch FROM clock_timestamp())::float8 * 1000 AS ' +
  'now_ms';

/**
 * $1 account, $2 method, $3 the profile's interval in ms, $4 guard in ms, $5 lead in ms: how long the answer may take
 * to come back, $6 the caller's last reservation (or 0) and $7 the moment (Unix ms) from which the row is free if
 * nobody reserved after it: the slot that it dropped, or what its last call left over. $8 is 0 when this replaces
 * dropped slots, else $9: the slots of this run, one behind the other. Nothing is reserved while the row is not free
 * within $10 ms: who queued far behind a run could not move up when it ends early. The run begins when the row is free.
 * Where that is now, its first slot is held open for the lead, and what follows counts from its end.
 */
export const RESERVE = `
INSERT INTO call_budget AS b (account, method, slot_at, next_allowed_at, quiet_calls)
VALUES ($1, $2, clock_timestamp(),
  ${NOW_AND_LEAD} + CASE WHEN $3::float8 > 0 THEN $9::int * ($3::float8 + $4::float8) ELSE 0 END * interval '1 ms',
    $9::int)
ON CONFLICT (account, method) DO UPDATE SET
  slot_at = greatest(clock_timestamp(), ${FREE_AT}),
  next_allowed_at = greatest(${NOW_AND_LEAD}, ${FREE_AT}) + $9::int * ${STEP},
  reservation = b.reservation + 1,
  quiet_calls = b.quiet_calls + $8::int,
  extra_guard_ms = CASE WHEN b.quiet_calls % ${CALLS_TO_RELAX} + $8::int >= ${CALLS_TO_RELAX} THEN greatest(0,
    b.extra_guard_ms - 1) ELSE b.extra_guard_ms END,
  learnt_interval_ms = CASE
    WHEN b.quiet_calls % ${5 * CALLS_TO_RELAX} + $8::int < ${5 * CALLS_TO_RELAX} THEN b.learnt_interval_ms
    WHEN b.learnt_interval_ms * 0.95 > greatest($3::float8, 1) THEN b.learnt_interval_ms * 0.95 END
WHERE ${FREE_AT} <= clock_timestamp() + $10::float8 * interval '1 ms'
RETURNING ${ANSWER}, extract(epoch FROM b.slot_at)::float8 * 1000 AS slot_ms, extract(epoch
  FROM b.next_allowed_at)::float8 * 1000 AS next_ms,
  extract(epoch FROM ${STEP})::float8 * 1000 AS step_ms`;

/** For how long the row is not free yet. */
export const FREE_IN = `
SELECT extract(epoch FROM next_allowed_at - clock_timestamp())::float8 * 1000 AS free_in_ms, extract(epoch
  FROM clock_timestamp())::float8 * 1000 AS now_ms
FROM call_budget WHERE account = $1 AND method = $2`;

/**
 * $1 account, $2 method, $3 reservation, $4 the moment (Unix ms) at which the run of that reservation now ends, unless
 * somebody queued behind it.
 */
export const EXTEND = `
UPDATE call_budget SET next_allowed_at = to_timestamp($4::float8 / 1000) WHERE account = $1 AND method = $2
  AND reservation = $3::bigint AND next_allowed_at < to_timestamp($4::float8 / 1000)`;

/**
 * $1 account, $2 method, $3 reservation, $4 the moment (Unix ms) from which the row is free again, unless somebody
 * queued behind; $5 slots that were not used.
 */
export const GIVE_BACK = `
UPDATE call_budget SET next_allowed_at = least(next_allowed_at, to_timestamp($4::float8 / 1000)),
  reservation = reservation + 1, quiet_calls = greatest(0, quiet_calls - $5::int)
WHERE account = $1 AND method = $2 AND reservation = $3::bigint`;

export const ENSURE = `
INSERT INTO call_budget (account, method, slot_at, next_allowed_at) VALUES ($1, $2, '-infinity', '-infinity')
  ON CONFLICT DO NOTHING`;

/**
 * $1 account, $2 method, $3 the profile's interval, $4 guard, $5 interval told or null, $6 Retry-After or null, $7 time
 * since this process's last call, $8 first and $9 longest back-off, $10 most that is added to the guard; all in ms. $11
 * and $12 are $6 and $7 of RESERVE: what is left of the caller's run is free again. Several 429s without a reservation
 * between them answer one burst and count once. Every process is told, for another may be in the middle of a run: the
 * reservation that this is, the moment (Unix ms) before which nobody may call, and of which line.
 */
export const LEARN = `
WITH seen AS (
  SELECT account, method, quiet_calls = 0 AND refusals > 0 AS same_burst,
    CASE WHEN quiet_calls = 0 AND refusals > 0 THEN refusals WHEN quiet_calls <= ${CALLS_TO_CALM} THEN least(refusals
      + 1, 30) ELSE 1 END AS refusals
  FROM call_budget WHERE account = $1 AND method = $2 FOR UPDATE
), lesson AS (
  SELECT s.*, greatest(clock_timestamp() + coalesce($6::float8, 0) * interval '1 ms',
    greatest(least(b.slot_at, clock_timestamp()), clock_timestamp() - $7::float8 * interval '1 ms')
      + greatest(coalesce($5::float8, 0), $3::float8, least($8::float8 * power(2, s.refusals - 1),
        $9::float8)) * interval '1 ms') AS free_at
  FROM seen s JOIN call_budget b USING (account, method)
)
UPDATE call_budget b SET
  refusals = s.refusals, quiet_calls = 0, last_429_at = clock_timestamp(), reservation = b.reservation + 1,
  next_allowed_at = greatest(CASE WHEN b.reservation = $11::bigint THEN least(b.next_allowed_at,
    to_timestamp($12::float8 / 1000)) ELSE b.next_allowed_at END, s.free_at),
  learnt_interval_ms = CASE
    WHEN $5::float8 > $3::float8 THEN $5::float8
    WHEN $5::float8 IS NOT NULL THEN NULL
    WHEN ${INTERVAL} = 0 THEN $8::float8
    ELSE b.learnt_interval_ms END,
  extra_guard_ms = CASE WHEN s.same_burst THEN b.extra_guard_ms
    ELSE least($10::float8, greatest(1, 2 * ($4::float8 + b.extra_guard_ms)) - $4::float8) END
FROM lesson s WHERE b.account = s.account AND b.method = s.method
RETURNING ${ANSWER}, extract(epoch FROM b.next_allowed_at)::float8 * 1000 AS next_ms,
  pg_notify('${BUDGET_CHANNEL}', b.reservation || ' ' || extract(epoch
    FROM s.free_at)::float8 * 1000 || ' ' || b.account || E'\n' || b.method) AS told`;

/** What 429s have taught all processes. */
export const LEARNT = `
SELECT b.account, b.method, ${ANSWER}, extract(epoch FROM b.next_allowed_at)::float8 * 1000 AS next_ms
FROM call_budget b WHERE b.learnt_interval_ms IS NOT NULL OR b.refusals > 0`;

export const NOW = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms';

/** What every answer about a row tells. */
export interface Answer {
  reservation: bigint;
  learnt_interval_ms: number | null;
  now_ms: number;
  next_ms: number;
}

/** Under which names the statements are prepared. */
export const NAMES = new Map([
  [RESERVE, 'budget-reserve'],
  [LEARN, 'budget-learn'],
  [LEARNT, 'budget-learnt'],
  [NOW, 'budget-now'],
  [FREE_IN, 'budget-free-in'],
]);
