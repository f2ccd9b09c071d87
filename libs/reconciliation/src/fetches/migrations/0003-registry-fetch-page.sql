-- What one call of a fetch brought, until the snapshot is written: it lies there then, and the row is removed.
CREATE TABLE registry_fetch_page (
  fetch_id   text COLLATE "C" NOT NULL,
  phase      text NOT NULL,
  n          integer NOT NULL,
  -- Rows of the snapshot: NDJSON.
  rows       text NOT NULL,
  row_count  integer NOT NULL,
  -- Items that the registry said it does not have: the archive is asked for them.
  missing    text[] NOT NULL,
  -- Items about which the answer says nothing that is understood.
  unanswered text[] NOT NULL,
  -- The answer byte for byte, gzipped, and the SHA-256 of its bytes.
  answer     bytea NOT NULL,
  sha256     text NOT NULL,
  fetched_at timestamptz NOT NULL,
  PRIMARY KEY (fetch_id, phase, n)
);
-- It is compressed already.
ALTER TABLE registry_fetch_page ALTER COLUMN answer SET STORAGE EXTERNAL;
