-- Makes a batch of appends. Nothing else writes the log: this function runs with the rights of its owner, who owns the
-- tables, and programs may only call it. Arguments and answers are those of append_events (0004), which commits; `head`
-- is the position of the newest event of the batch, null where nothing was added.
--
-- Order of locks: streams by hash, then the counter row. Every caller takes them in this order, so none can deadlock
-- with another.
CREATE FUNCTION append_batch(
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
  OUT positions bigint[],
  OUT head bigint
)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  appends int := cardinality(append_stream);
  -- Version of each stream's last event, the appends of this batch included as they are placed.
  heads int[];
  -- Per append: version of its first event, and its place among the new events of this batch, from 1. -1 when it adds
  -- nothing.
  first_version int[] := array_fill(-1, ARRAY[appends]);
  placed int[] := array_fill(-1, ARRAY[appends]);
  added int := 0;
  s int;
  size int;
  expected int;
  known int;
  base bigint;
  recorded timestamptz;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'append_batch needs read committed: what it reads after its locks was committed before them';
  END IF;

  PERFORM pg_advisory_xact_lock(1163281741, locks.key)
  FROM (SELECT DISTINCT hashtext(name) AS key FROM unnest(streams) AS name ORDER BY 1) AS locks;

  heads := ARRAY(
    SELECT coalesce((SELECT event.version FROM event WHERE event.stream = wanted.name
      ORDER BY event.version DESC LIMIT 1), -1)
    FROM unnest(streams) WITH ORDINALITY AS wanted(name, number) ORDER BY wanted.number);

  FOR i IN 1 .. appends LOOP
    s := append_stream[i];
    size := append_size[i];
    expected := append_expected[i];

    IF expected = -2 THEN
      INSERT INTO event_any (stream, id, version)
      SELECT streams[s], event_id[append_first[i] + n], heads[s] + 1 + n FROM generate_series(0, size - 1) AS n
      ON CONFLICT DO NOTHING;
      GET DIAGNOSTICS known = ROW_COUNT;
      IF known = size THEN
        expected := heads[s];
      ELSE
        -- Some of these ids were appended before. From here on it is an append after the event before the first of
        -- them.
        DELETE FROM event_any WHERE event_any.stream = streams[s] AND event_any.version > heads[s]
          AND event_any.id = ANY (event_id[append_first[i] : append_first[i] + size - 1]);
        SELECT min(event_any.version) - 1 INTO expected FROM event_any
        WHERE event_any.stream = streams[s]
          AND event_any.id = ANY (event_id[append_first[i] : append_first[i] + size - 1]);
      END IF;
    END IF;

    IF expected = heads[s] THEN
      first_version[i] := heads[s] + 1;
      placed[i] := added + 1;
      added := added + size;
      heads[s] := heads[s] + size;
      outcomes[i] := 0;
      versions[i] := heads[s];
      CONTINUE;
    END IF;

    -- A repeat when exactly these ids stand at the versions that the append asks for, in the table or earlier in this
    -- batch.
    known := 0;
    IF expected < heads[s] THEN
      SELECT count(*) INTO known
      FROM (
        SELECT event.version, event.id FROM event
        WHERE event.stream = streams[s] AND event.version > expected AND event.version <= expected + size
        UNION ALL
        SELECT first_version[k] + n, event_id[append_first[k] + n]
        FROM generate_series(1, i - 1) AS k, generate_series(0, append_size[k] - 1) AS n
        WHERE append_stream[k] = s AND first_version[k] >= 0
      ) AS there(version, id)
      WHERE there.version > expected AND there.version <= expected + size
        AND there.id = event_id[append_first[i] + there.version - expected - 1];
    END IF;
    IF known = size THEN
      outcomes[i] := 1;
      versions[i] := expected + size;
    ELSE
      outcomes[i] := 2;
      versions[i] := heads[s];
    END IF;
  END LOOP;

  IF added > 0 THEN
    UPDATE event_counter SET position = event_counter.position + added
    RETURNING event_counter.position - added INTO base;
    -- Taken under the counter's lock, so that the times of the log go forward with its positions.
    recorded := clock_timestamp();
    INSERT INTO event (position, stream, version, id, type, schema_version, data, metadata, recorded_at)
    SELECT
      base + placed[e.append] + e.number - append_first[e.append],
      streams[append_stream[e.append]],
      first_version[e.append] + e.number - append_first[e.append],
      e.id,
      e.type,
      e.schema_version,
      substring(payload FROM e.at + 1 FOR e.data_bytes),
      substring(payload FROM e.at + e.data_bytes + 1 FOR e.metadata_bytes),
      recorded
    FROM unnest(event_append, event_id, event_type, event_schema_version, event_at, event_data_bytes,
        event_metadata_bytes)
      WITH ORDINALITY AS e(append, id, type, schema_version, at, data_bytes, metadata_bytes, number)
    WHERE first_version[e.append] >= 0;
  END IF;

  FOR i IN 1 .. appends LOOP
    IF outcomes[i] = 0 THEN
      positions[i] := base + placed[i] + append_size[i] - 1;
    ELSIF outcomes[i] = 1 THEN
      positions[i] := (SELECT event.position FROM event
        WHERE event.stream = streams[append_stream[i]] AND event.version = versions[i]);
    ELSE
      positions[i] := NULL;
    END IF;
  END LOOP;
  head := base + added;
END
$$;

-- Where it looks for tables is fixed: the schema of the log, and last what a caller may have put into its session.
-- Otherwise a caller could have it write a table of his own.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION append_batch SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON FUNCTION append_batch FROM PUBLIC;
