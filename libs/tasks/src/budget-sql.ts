/**
 * The statements of the call budgets. Moments are `clock_timestamp()`, read while the row is locked, so that callers of all processes queue
 * in the order in which they got the row. Slots and the present moment are answered as Unix ms with fractions.
 */

/** A guard shrinks by 1 ms after so many calls without a 429; a learnt interval by a twentieth after five times as many. */
const CALLS_TO_RELAX = 100;
/** A 429 within so many calls of the last one follows it: the back-off doubles. */
const CALLS_TO_CALM = 10;

const INTERVAL = 'greatest($3::float8, coalesce(b.learnt_interval_ms, 0))';
const STEP = `(CASE WHEN ${INTERVAL} > 0 THEN ${INTERVAL} + $4::float8 + b.extra_guard_ms ELSE 0 END * interval '1 ms')`;
const NOW_AND_LEAD = `(clock_timestamp() + $5::float8 * interval '1 ms')`;
const FREE_AT = 'CASE WHEN b.reservation = $6::bigint THEN least(b.next_allowed_at, to_timestamp($7::float8 / 1000)) ELSE b.next_allowed_at END';

const ANSWER = `b.reservation, b.learnt_interval_ms, b.extra_guard_ms, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms`;

/**
 * $1 account, $2 method, $3 the profile's interval in ms, $4 guard in ms, $5 lead in ms: how long the answer may take to come back, $6 the
 * caller's last reservation (or 0) and $7 the moment (Unix ms) from which the row is free if nobody reserved after it: the slot
 * that it dropped, or what its last call left over. $8 is 0 when this replaces a dropped slot, else 1.
 * The slot begins when the row is free. Where that is now, its end is held open for the lead, and the next slot counts from the end.
 */
export const RESERVE = `
INSERT INTO call_budget AS b (account, method, slot_at, next_allowed_at, quiet_calls)
VALUES ($1, $2, clock_timestamp(), ${NOW_AND_LEAD} + CASE WHEN $3::float8 > 0 THEN $3::float8 + $4::float8 ELSE 0 END * interval '1 ms', 1)
ON CONFLICT (account, method) DO UPDATE SET
  slot_at = greatest(clock_timestamp(), ${FREE_AT}),
  next_allowed_at = greatest(${NOW_AND_LEAD}, ${FREE_AT}) + ${STEP},
  reservation = b.reservation + 1,
  quiet_calls = b.quiet_calls + $8::int,
  extra_guard_ms = CASE WHEN b.quiet_calls % ${CALLS_TO_RELAX} = ${CALLS_TO_RELAX - 1} THEN greatest(0, b.extra_guard_ms - 1) ELSE b.extra_guard_ms END,
  learnt_interval_ms = CASE
    WHEN b.quiet_calls % ${5 * CALLS_TO_RELAX} < ${5 * CALLS_TO_RELAX - 1} THEN b.learnt_interval_ms
    WHEN b.learnt_interval_ms * 0.95 > greatest($3::float8, 1) THEN b.learnt_interval_ms * 0.95 END
RETURNING ${ANSWER}, extract(epoch FROM b.slot_at)::float8 * 1000 AS slot_ms, extract(epoch FROM b.next_allowed_at)::float8 * 1000 AS next_ms`;

/** $1 account, $2 method, $3 reservation: the slot is free again, unless somebody queued behind it. */
export const GIVE_BACK = `
UPDATE call_budget SET next_allowed_at = slot_at, reservation = reservation + 1, quiet_calls = greatest(0, quiet_calls - 1)
WHERE account = $1 AND method = $2 AND reservation = $3::bigint`;

export const ENSURE = `
INSERT INTO call_budget (account, method, slot_at, next_allowed_at) VALUES ($1, $2, '-infinity', '-infinity') ON CONFLICT DO NOTHING`;

/**
 * $1 account, $2 method, $3 the profile's interval, $4 guard, $5 interval told or null, $6 Retry-After or null, $7 time since this process's
 * last call, $8 first and $9 longest back-off, $10 most that is added to the guard; all in ms. Several 429s without a reservation
 * between them answer one burst and count once.
 */
export const LEARN = `
WITH seen AS (
  SELECT account, method, quiet_calls = 0 AND refusals > 0 AS same_burst,
    CASE WHEN quiet_calls = 0 AND refusals > 0 THEN refusals WHEN quiet_calls <= ${CALLS_TO_CALM} THEN least(refusals + 1, 30) ELSE 1 END AS refusals
  FROM call_budget WHERE account = $1 AND method = $2 FOR UPDATE
)
UPDATE call_budget b SET
  refusals = s.refusals, quiet_calls = 0, last_429_at = clock_timestamp(), reservation = b.reservation + 1,
  next_allowed_at = greatest(b.next_allowed_at, clock_timestamp() + coalesce($6::float8, 0) * interval '1 ms',
    greatest(least(b.slot_at, clock_timestamp()), clock_timestamp() - $7::float8 * interval '1 ms')
      + greatest(coalesce($5::float8, 0), $3::float8, least($8::float8 * power(2, s.refusals - 1), $9::float8)) * interval '1 ms'),
  learnt_interval_ms = CASE
    WHEN $5::float8 > $3::float8 THEN $5::float8
    WHEN $5::float8 IS NOT NULL THEN NULL
    WHEN ${INTERVAL} = 0 THEN $8::float8
    ELSE b.learnt_interval_ms END,
  extra_guard_ms = CASE WHEN s.same_burst THEN b.extra_guard_ms
    ELSE least($10::float8, greatest(1, 2 * ($4::float8 + b.extra_guard_ms)) - $4::float8) END
FROM seen s WHERE b.account = s.account AND b.method = s.method
RETURNING ${ANSWER}, extract(epoch FROM b.next_allowed_at)::float8 * 1000 AS next_ms`;

/** What 429s have taught all processes. */
export const LEARNT = `
SELECT b.account, b.method, ${ANSWER}, extract(epoch FROM b.next_allowed_at)::float8 * 1000 AS next_ms
FROM call_budget b WHERE b.learnt_interval_ms IS NOT NULL OR b.refusals > 0`;

export const NOW = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms';
