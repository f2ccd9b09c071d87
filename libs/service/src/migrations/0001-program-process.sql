-- Which process runs which program, as it says itself every few seconds. One that is killed leaves its row: seen_at then tells when it was last there.
CREATE TABLE program_process (
  id uuid PRIMARY KEY,
  program text NOT NULL,
  process text NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  stopped_at timestamptz,
  -- JSON: how each of its subscriptions to the log stands.
  subscriptions text NOT NULL
);
-- A few rows that are rewritten all the time: room for new versions in the same page spares the index.
ALTER TABLE program_process SET (fillfactor = 20);
