-- Records that somebody takes data out of the database by a command on the host, with a role that may only read. It
-- runs with the rights of its owner, and makes the one event itself: stream, type, times and form are not the caller's,
-- who gives nothing but texts. What it writes is RFC 8785, as all that is in the log. Nobody is notified: readers look
-- by themselves once a second.
CREATE FUNCTION record_host_export(
  event_id uuid,
  what text,
  format text,
  filter jsonb,
  actor_name text,
  participant text,
  software_version text,
  profile text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  at timestamptz := clock_timestamp();
  asked text;
  data bytea;
  metadata bytea;
BEGIN
  IF EXISTS (SELECT FROM jsonb_each(filter) AS one WHERE jsonb_typeof(one.value) <> 'string'
      OR one.key !~ '^[A-Za-z_]{1,50}$') THEN
    RAISE EXCEPTION 'filter: names are letters, and values are texts' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- By code points: the names are ASCII.
  SELECT coalesce(string_agg(to_json(one.key)::text || ':' || to_json(one.value)::text, ','
    ORDER BY one.key COLLATE "C"), '') INTO asked FROM jsonb_each_text(filter) AS one;
  data := convert_to(
    '{"address":"host","exportId":' || to_json(event_id::text)::text || ',"filter":{' || asked || '},"format":' ||
    to_json(format)::text || ',"what":' || to_json(what)::text || '}', 'UTF8');
  metadata := convert_to(
    '{"actor":{"authenticatedBy":"database","kind":"person","name":' || to_json(actor_name)::text ||
    '},"causationId":' || to_json(event_id::text)::text || ',"correlationId":' ||
    to_json('access:' || actor_name)::text || ',"effectiveAt":' ||
    to_json(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text || ',"participant":' ||
    to_json(participant)::text || ',"profile":' || to_json(profile)::text || ',"softwareVersion":' ||
    to_json(software_version)::text || '}', 'UTF8');
  IF data IS NULL OR metadata IS NULL OR length(data) + length(metadata) > 16384 THEN
    RAISE EXCEPTION 'an export is told in 16 KiB, and nothing of it is null'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM append_batch(
    ARRAY['access-' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')], ARRAY[1], ARRAY[-2], ARRAY[1], ARRAY[1],
    ARRAY[1], ARRAY[event_id], ARRAY['ExportBegun'], ARRAY[1], ARRAY[0], ARRAY[length(data)],
    ARRAY[length(metadata)], data || metadata);
END
$$;

-- As of append_batch (0007): where it looks for tables and functions is fixed.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION record_host_export SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON FUNCTION record_host_export FROM PUBLIC;
