-- Each restore of a backup into this database. While one is `loading` every program refuses to start; while one is `comparing` nothing leaves for the
-- registry until the lists of documents tell what was sent since the backup; then it is `released`.
CREATE TABLE restoration (
  id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  state         text NOT NULL CHECK (state IN ('loading', 'comparing', 'released')),
  -- SHA-256 of the backup's content; null where the database was restored by other means.
  backup_sha256 text,
  -- When the backup was taken, by the clock of the server that it was taken from.
  taken_at      timestamptz NOT NULL,
  log_head      bigint,
  restored_by   text NOT NULL,
  begun_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  loaded_at     timestamptz,
  released_at   timestamptz
);
-- One at a time.
CREATE UNIQUE INDEX restoration_open ON restoration ((true)) WHERE state <> 'released';
