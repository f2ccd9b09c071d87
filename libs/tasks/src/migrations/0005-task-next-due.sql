-- Milliseconds until the first task of a lane, of these kinds (all when null), that falls due after a moment; 0 when it is due already,
-- null when there is none. One index probe per priority in use. Tasks under a lease are not counted: when a lease runs out nobody is
-- told, so a waiting runner looks again after its longest wait.
CREATE FUNCTION task_next_due_ms(in_lane text, in_kinds text[], in_after timestamptz) RETURNS double precision LANGUAGE sql STABLE AS $$
  WITH RECURSIVE used(priority) AS (
    (SELECT t.priority FROM task t WHERE t.lane = in_lane ORDER BY t.priority LIMIT 1)
    UNION ALL
    SELECT (SELECT t.priority FROM task t WHERE t.lane = in_lane AND t.priority > used.priority ORDER BY t.priority LIMIT 1)
    FROM used WHERE used.priority IS NOT NULL
  )
  SELECT greatest(0, 1000 * extract(epoch FROM min(first.due_at) - statement_timestamp()))::double precision
  FROM used CROSS JOIN LATERAL (
    SELECT t.due_at FROM task t
    WHERE t.lane = in_lane AND t.priority = used.priority AND t.due_at > in_after AND t.due_at < 'infinity'
      AND t.lease_until <= statement_timestamp() AND (in_kinds IS NULL OR t.kind = ANY (in_kinds))
    ORDER BY t.due_at LIMIT 1
  ) first
  -- Without a row greatest() would turn the null into 0.
  HAVING min(first.due_at) IS NOT NULL
$$;
