-- The embedded bus: what was published to the ERP, in the order of publishing; only the newest are kept. The same id again changes nothing.
CREATE TABLE bus_outcome (
  position bigint PRIMARY KEY,
  id text NOT NULL UNIQUE,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  topic text NOT NULL,
  content_type text NOT NULL,
  body bytea NOT NULL
);
