/**
 * The statements of the task queue. All moments are the database's: `statement_timestamp()`, because the planner may
 * use it in an index condition, which it may not do with the volatile `clock_timestamp()`; the two differ by the run
 * time of one statement.
 */

/** Separates the kinds of one lane in an array of texts: a control character that no kind may hold. */
export const KIND_SEPARATOR = '\u001f';
export const TASK_CHANNEL = 'pedigree_task';

/**
 * $1 keys, $2 kinds, $3 lanes, $4 priorities, $5 due times (Unix ms), $6 payloads. The key's digest is inserted first:
 * a concurrent or earlier schedule of the same key wins there, and only keys that were new become tasks. In order of
 * digest, so that two batches that share keys cannot deadlock. The tasks get their ids in the order in which they are
 * given. Tells each lane, on commit, how soon its first new task is due.
 */
export const SCHEDULE = `
WITH wanted AS MATERIALIZED (
  SELECT substring(sha256(convert_to(key, 'UTF8')) FOR 16) AS digest, *
  FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::float8[], $6::text[]) WITH ORDINALITY
    AS w(key, kind, lane, priority, due_ms, payload, n)
), fresh AS (
  INSERT INTO task_key (digest) SELECT digest FROM wanted ORDER BY digest ON CONFLICT DO NOTHING RETURNING digest
), added AS (
  INSERT INTO task (key, kind, lane, priority, due_at, payload)
  SELECT key, kind, lane, priority, to_timestamp(due_ms / 1000), payload FROM wanted JOIN fresh USING (digest)
  ORDER BY n
  RETURNING lane, due_at
)
SELECT pg_notify('${TASK_CHANNEL}', greatest(0, ceil(1000 * extract(epoch
  FROM min(due_at) - clock_timestamp())))::bigint || ' ' || lane)
FROM added GROUP BY lane`;

/**
 * $1 lanes (each once), $2 most tasks of each, $3 kinds of each (joined, or null for all), $4 lease in ms, $5 holder.
 * One row per task, or one without a task for a lane that has none; each with the ms to the lane's next due task (0
 * when there may be more now). One index probe per priority in use, the lowest number first, so that tasks that are not
 * due cost nothing. Each priority is a join partner of its own, so they are taken in that order, and the outer limit
 * ends the scan before a row is locked that is not claimed.
 */
export const CLAIM = `
WITH wanted AS (
  SELECT lane, most, string_to_array(kinds, '${KIND_SEPARATOR}') AS kinds, n
  FROM unnest($1::text[], $2::int[], $3::text[]) WITH ORDINALITY AS w(lane, most, kinds, n)
), picked AS (
  SELECT w.n, t.id FROM wanted w CROSS JOIN LATERAL (
    WITH RECURSIVE used(priority) AS (
      (SELECT priority FROM task WHERE lane = w.lane ORDER BY priority LIMIT 1)
      UNION ALL
      SELECT (SELECT task.priority FROM task WHERE lane = w.lane AND task.priority > used.priority
        ORDER BY task.priority LIMIT 1)
      FROM used WHERE used.priority IS NOT NULL
    )
    SELECT due.id FROM used CROSS JOIN LATERAL (
      SELECT id FROM task
      WHERE lane = w.lane AND priority = used.priority AND due_at <= statement_timestamp()
        AND lease_until <= statement_timestamp()
        AND (w.kinds IS NULL OR kind = ANY (w.kinds))
      ORDER BY due_at, id LIMIT w.most FOR UPDATE SKIP LOCKED
    ) due LIMIT w.most
  ) t
), claimed AS (
  UPDATE task SET lease_until = statement_timestamp() + $4::float8 * interval '1 ms', holder = $5::text,
    attempts = attempts + 1,
    lease_number = lease_number + 1, lease_expired_before = lease_expired_before OR lease_until > '-infinity',
    leases_lost = leases_lost + (lease_until > '-infinity')::int
  WHERE id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING id, id || ':' || lease_number AS lease, key, kind, priority, extract(epoch
    FROM due_at)::float8 * 1000 AS due_ms,
    attempts, lease_expired_before, leases_lost, payload,
    extract(epoch FROM statement_timestamp())::float8 * 1000 AS claimed_ms
), state AS MATERIALIZED (
  SELECT w.n, w.lane, CASE WHEN (SELECT count(*) FROM picked p WHERE p.n = w.n) < w.most
    THEN task_next_due_ms(w.lane, w.kinds, statement_timestamp()) ELSE 0 END AS next_ms
  FROM wanted w
)
SELECT s.lane AS lane_name, s.next_ms, c.* FROM state s LEFT JOIN (picked p JOIN claimed c USING (id)) ON p.n = s.n`;

/** $1 ids, $2 lease numbers: the tasks that are done are deleted. Answers the ids whose lease still held. */
export const SETTLE_DONE = `
DELETE FROM task t USING unnest($1::bigint[], $2::int[]) AS r(id, lease_number)
WHERE t.id = r.id AND t.lease_number = r.lease_number AND t.lease_until > '-infinity' RETURNING t.id::text`;

/**
 * $1 ids, $2 lease numbers, $3 results (`retry`, `give_back` or `failed`), $4 delays of retries in ms, $5 errors, $6
 * attempts to take back (1 where nothing was tried). The delay counts from here, by this server's clock.
 */
export const SETTLE_KEPT = `
UPDATE task t SET lease_until = '-infinity', holder = NULL, last_error = coalesce(r.error, t.last_error),
  attempts = t.attempts - r.uncounted,
  leases_lost = CASE r.result WHEN 'give_back' THEN t.leases_lost ELSE 0 END,
  due_at = CASE r.result WHEN 'give_back' THEN t.due_at WHEN 'failed' THEN 'infinity' ELSE statement_timestamp() +
    r.delay_ms * interval '1 ms' END,
  failed_at = CASE WHEN r.result = 'failed' THEN statement_timestamp() END
FROM unnest($1::bigint[], $2::int[], $3::text[], $4::float8[], $5::text[], $6::int[]) AS r(id, lease_number, result,
  delay_ms, error, uncounted)
WHERE t.id = r.id AND t.lease_number = r.lease_number AND t.lease_until > '-infinity' RETURNING t.id::text`;

/** $1 ids, $2 lease numbers, $3 lease in ms. */
export const EXTEND = `
UPDATE task t SET lease_until = statement_timestamp() + $3::float8 * interval '1 ms'
FROM unnest($1::bigint[], $2::int[]) AS r(id, lease_number)
WHERE t.id = r.id AND t.lease_number = r.lease_number AND t.lease_until > '-infinity' RETURNING t.id::text`;

/** $1 lane, $2 kinds: whether somebody holds the first of these tasks that is due. */
export const FIRST_HELD = `
SELECT lease_until > statement_timestamp() AS held FROM task
WHERE lane = $1::text AND due_at <= statement_timestamp() AND kind = ANY ($2::text[])
ORDER BY priority, due_at, id LIMIT 1`;

/** $1 lane, $2 ids, $3 kinds: those of them before which no other task of these kinds is due, whoever holds it. */
export const IN_TURN = `
WITH ahead AS MATERIALIZED (
  SELECT priority, due_at, id FROM task
  WHERE lane = $1::text AND due_at <= statement_timestamp() AND id <> ALL ($2::bigint[])
    AND kind = ANY ($3::text[])
  ORDER BY priority, due_at, id LIMIT 1
)
SELECT id::text FROM task t WHERE id = ANY ($2::bigint[]) AND NOT EXISTS (
  SELECT FROM ahead a WHERE (a.priority, a.due_at, a.id) < (t.priority, t.due_at, t.id))`;

/** $1 lanes, $2 kinds (or null): the ms to each lane's next due task. */
export const NEXT_DUE = `SELECT lane, task_next_due_ms(lane, $2::text[], '-infinity') AS next_ms
    FROM unnest($1::text[]) AS w(lane)`;

export const LANES = `
SELECT lane,
  count(*) FILTER (WHERE failed_at IS NULL AND lease_until <= now)::int AS ready,
  count(*) FILTER (WHERE lease_until > now)::int AS leased,
  count(*) FILTER (WHERE failed_at IS NOT NULL)::int AS failed,
  count(*) FILTER (WHERE due_at <= now AND lease_until <= now)::int AS overdue,
  min(due_at) FILTER (WHERE failed_at IS NULL AND lease_until <= now) AS next_due_at,
  min(due_at) FILTER (WHERE due_at <= now AND lease_until <= now) AS oldest_due_at
FROM task, (SELECT statement_timestamp() AS now) AS moment GROUP BY lane ORDER BY lane`;

/** $1 most that are counted: the cost is bounded, however long the queue. */
export const READY_COUNT = `SELECT count(*)::int AS ready FROM (SELECT FROM task WHERE failed_at IS NULL
    LIMIT $1::int) AS counted`;

/** $1 most, $2 key or NULL, $3 kind or NULL. */
export const FAILED = `
SELECT key, kind, lane, attempts, failed_at, last_error, payload FROM task
  WHERE failed_at IS NOT NULL AND ($2::text IS NULL OR key = $2) AND ($3::text IS NULL OR kind = $3)
  ORDER BY failed_at DESC LIMIT $1::int`;

/** $1 keys, $2 reason. Attempts begin anew; what went wrong and why it is tried again stay readable. */
export const RETRY_FAILED = `
WITH again AS (
  UPDATE task SET failed_at = NULL, due_at = statement_timestamp(), attempts = 0,
    last_error = left(last_error || ' | tried again: ' || $2::text, 4000)
  WHERE key = ANY ($1::text[]) AND failed_at IS NOT NULL RETURNING lane
)
SELECT pg_notify('${TASK_CHANNEL}', '0 ' || lane) FROM again`;

export const HOLDERS = `SELECT DISTINCT holder FROM task WHERE lease_until > statement_timestamp()
    AND holder IS NOT NULL`;

/** $1 holders. A lease that ends now is one that ran out: whoever claims the task next is told so. */
export const END_LEASES =
  'UPDATE task SET lease_until = statement_timestamp() WHERE holder = ANY ($1::text[]) AND lease_until > ' +
  'statement_timestamp()';

/**
 * $1 lane, $2 most, $3 kinds (or null), $4 lease in ms, $5 holder: only tasks whose lease ran out, so that somebody may
 * have begun them. It looks through the whole lane, for an index by lease would make every claim dearer: for a lane
 * that is held, now and then.
 */
export const CLAIM_UNFINISHED = `
WITH picked AS (
  SELECT id FROM task
  WHERE lane = $1::text AND due_at <= statement_timestamp() AND lease_until > '-infinity'
    AND lease_until <= statement_timestamp()
    AND ($3::text IS NULL OR kind = ANY (string_to_array($3::text, '${KIND_SEPARATOR}')))
  ORDER BY priority, due_at, id LIMIT $2::int FOR UPDATE SKIP LOCKED
)
UPDATE task SET lease_until = statement_timestamp() + $4::float8 * interval '1 ms', holder = $5::text,
  attempts = attempts + 1,
  lease_number = lease_number + 1, lease_expired_before = true, leases_lost = leases_lost + 1
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING lane AS lane_name, id, id || ':' || lease_number AS lease, key, kind, priority, extract(epoch
  FROM due_at)::float8 * 1000 AS due_ms,
  attempts, lease_expired_before, leases_lost, payload,
  extract(epoch FROM statement_timestamp())::float8 * 1000 AS claimed_ms`;
