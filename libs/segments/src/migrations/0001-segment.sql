-- Files with all movements of a range of log positions, (from_position, to_position]. A row is written when its files are durable. Ranges follow
-- one another without a gap, and where one ends follows from the log alone: a rebuild gives the same rows.
CREATE TABLE segment (
  to_position   bigint PRIMARY KEY,
  from_position bigint NOT NULL UNIQUE,
  -- Rows of packs, and of containers and places.
  pack_rows      integer NOT NULL,
  container_rows integer NOT NULL,
  -- SHA-256 over the canonical rows of packs, in their order: the same after any rebuild.
  rows_sha256   text NOT NULL,
  -- Name, length and SHA-256 of each file: of its bytes, which another version of DuckDB may write otherwise.
  files         jsonb NOT NULL,
  -- When the log recorded the last document of the range.
  recorded_at   timestamptz,
  written_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
