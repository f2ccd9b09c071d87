/** The statements of the embedded bus. All moments are the database's. */

export const BUS_CHANNEL = 'pedigree_bus';

/** $1 message ids, $2 content types, $3 headers (JSON), $4 bodies. */
export const PUBLISH_COMMANDS = `
WITH added AS (
  INSERT INTO bus_command (message_id, content_type, headers, body)
  SELECT message_id, content_type, headers::jsonb, body
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) WITH ORDINALITY AS m(message_id, content_type, headers,
    body, n) ORDER BY n
)
SELECT pg_notify('${BUS_CHANNEL}', '')`;

/**
 * $1 most, $2 lease in ms, $3 most bytes of their bodies together, $4 whether the first is taken whatever it has.
 * Lengths are read without the bodies.
 */
export const CLAIM = `
WITH looked AS (
  SELECT id, available_at, octet_length(body) AS bytes FROM bus_command WHERE available_at <= statement_timestamp()
    ORDER BY available_at, id LIMIT $1::int FOR UPDATE SKIP LOCKED
), picked AS (
  SELECT id FROM (SELECT id, sum(bytes) OVER line AS upto, row_number() OVER line AS n
    FROM looked WINDOW line AS (ORDER BY available_at, id)) AS lined
  WHERE upto <= $3::float8 OR ($4::boolean AND n = 1)
)
UPDATE bus_command c SET deliveries = deliveries + 1, lease_number = lease_number + 1,
  available_at = statement_timestamp() + $2::float8 * interval '1 ms'
FROM picked WHERE c.id = picked.id
RETURNING c.id, letter_id AS "letterId", lease_number AS "leaseNumber", deliveries, message_id AS "messageId",
  publisher, content_type AS "contentType", headers, body, (SELECT count(*) FROM looked) > (SELECT count(*)
  FROM picked) AS "isCut"`;

/** $1 ids, $2 lease numbers. Who lost his lease changes nothing: somebody else has the message. */
export const DONE =
  'DELETE FROM bus_command c USING unnest($1::bigint[], $2::int[]) AS r(id, lease_number) WHERE c.id = r.id AND ' +
  'c.lease_number = r.lease_number';

/** $1 id, $2 lease number, $3 code, $4 reason, $5 deliveries. */
export const DEAD = `
WITH gone AS (DELETE FROM bus_command WHERE id = $1::bigint AND lease_number = $2::int RETURNING letter_id,
  message_id, publisher, content_type, headers, body)
INSERT INTO bus_dead_letter (id, code, reason, deliveries, message_id, publisher, content_type, headers, body)
SELECT letter_id, $3, left($4, 4000), $5::int, message_id, publisher, content_type, headers, body FROM gone`;

/** $1 id, $2 lease number, $3 delay in ms, $4 deliveries to take back (1 where it was not tried). */
export const GIVE_BACK = `
UPDATE bus_command SET available_at = statement_timestamp() + $3::float8 * interval '1 ms',
  deliveries = deliveries - $4::int, lease_number = lease_number + 1
WHERE id = $1::bigint AND lease_number = $2::int`;

/** $1 ids, $2 lease numbers, $3 lease in ms. */
export const EXTEND = `
UPDATE bus_command c SET available_at = statement_timestamp() + $3::float8 * interval '1 ms'
FROM unnest($1::bigint[], $2::int[]) AS r(id, lease_number) WHERE c.id = r.id AND c.lease_number = r.lease_number`;

/** One publisher at a time, so that positions are in the order of commits and a reader misses none. */
export const LOCK_OUTCOMES = `SELECT pg_advisory_xact_lock(7031960422)`;

/** $1 ids, $2 topics, $3 content types, $4 bodies; in their order. */
export const PUBLISH_OUTCOMES = `
INSERT INTO bus_outcome (position, id, topic, content_type, body)
SELECT coalesce((SELECT max(position) FROM bus_outcome), 0) + row_number() OVER (ORDER BY n), id, topic, content_type,
  body
FROM (
  SELECT DISTINCT ON (id) * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) WITH ORDINALITY AS m(id,
    topic, content_type, body, n)
  WHERE NOT EXISTS (SELECT FROM bus_outcome o WHERE o.id = m.id) ORDER BY id, n
) AS fresh`;

/** $1 most that are kept. The newest always stays, so that positions go on from it. */
export const FORGET_OUTCOMES = `DELETE FROM bus_outcome WHERE position <= (SELECT max(position)
    FROM bus_outcome) - $1::bigint`;

/** $1 position, $2 most. */
export const OUTCOMES =
  'SELECT position, id, topic, content_type AS "contentType", body FROM bus_outcome WHERE position > $1::bigint ' +
  'ORDER BY position LIMIT $2::int';

const LETTER =
  'id, message_id AS "messageId", publisher, content_type AS "contentType", headers, octet_length(body) AS ' +
  '"bodyBytes", code, reason, dead_at AS "deadAt", deliveries';

/** $1 most. */
export const LETTERS = `SELECT ${LETTER} FROM bus_dead_letter ORDER BY dead_at, number LIMIT $1::int`;

/** $1 id. */
export const LETTER_BY_ID = `SELECT ${LETTER}, body FROM bus_dead_letter WHERE id = $1::uuid`;

/** $1 id. */
export const REPLAY = `
WITH gone AS (DELETE FROM bus_dead_letter WHERE id = $1::uuid RETURNING message_id, publisher, content_type, headers,
  body),
added AS (INSERT INTO bus_command (message_id, publisher, content_type, headers, body) SELECT message_id, publisher,
  content_type, headers, body FROM gone RETURNING id)
SELECT pg_notify('${BUS_CHANNEL}', '') FROM added`;

/** $1 id. */
export const DISCARD = `DELETE FROM bus_dead_letter WHERE id = $1::uuid`;

/** $1 days, $2 most. */
export const REMOVE_LETTERS = `
DELETE FROM bus_dead_letter WHERE id IN (
  SELECT id FROM bus_dead_letter WHERE dead_at < statement_timestamp() - $1::int * interval '1 day' ORDER BY dead_at,
    number LIMIT $2::int
) RETURNING ${LETTER}`;

/** $1 most that are counted of each: the cost is bounded, however long the queue. */
export const COUNTS = `
SELECT (SELECT count(*)::int FROM (SELECT FROM bus_command LIMIT $1::int) AS c) AS commands, (SELECT count(*)::int
  FROM (SELECT FROM bus_dead_letter LIMIT $1::int) AS d) AS dead`;
