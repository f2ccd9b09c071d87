-- Makes a batch of appends in one call, and commits it: a procedure that commits cannot join a caller's transaction. It
-- has the rights of its caller, for only such a procedure may commit; append_batch (0007) has the right to write.
-- Arguments and answers: see 0004.
CREATE OR REPLACE PROCEDURE append_events(
  streams text[],
  append_stream int[],
  append_expected int[],
  append_first int[],
  append_size int[],
  event_append int[],
  event_id uuid[],
  event_type text[],
  event_schema_version int[],
  event_at int[],
  event_data_bytes int[],
  event_metadata_bytes int[],
  payload bytea,
  OUT outcomes int[],
  OUT versions int[],
  OUT positions bigint[]
)
LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
BEGIN
  SELECT batch.outcomes, batch.versions, batch.positions, batch.head INTO outcomes, versions, positions, head
  FROM append_batch(streams, append_stream, append_expected, append_first, append_size, event_append,
    event_id, event_type, event_schema_version, event_at, event_data_bytes, event_metadata_bytes, payload) AS batch;

  COMMIT;
  -- The wake-up follows the commit in a transaction of its own. It writes nothing that must reach the disk, so the lock
  -- that PostgreSQL takes for a notifying commit is never held over a flush. Losing it in a crash costs a reader its
  -- fallback poll, nothing more.
  IF head IS NOT NULL THEN
    PERFORM pg_notify('event_log', head::text);
  END IF;
END
$$;
