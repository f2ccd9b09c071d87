-- The embedded bus: commands that wait to be handled. available_at is when the next may take it: at once, after a failure's delay, or when
-- the lease of whoever has it runs out. lease_number grows with each delivery and names the lease: who settles must know it.
CREATE TABLE bus_command (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deliveries integer NOT NULL DEFAULT 0,
  lease_number integer NOT NULL DEFAULT 0,
  message_id text,
  content_type text NOT NULL,
  headers jsonb NOT NULL,
  body bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
