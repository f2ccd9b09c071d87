-- What a segment's rows are under one root, and the event that says so. NULL: not worked out, or not sealed yet. Blocks are the hashes of the
-- leaves (32 bytes for 64 rows), from which paths are made.
ALTER TABLE segment ADD COLUMN root text, ADD COLUMN blocks bytea, ADD COLUMN closings integer, ADD COLUMN closings_sha256 text,
  ADD COLUMN sealed_position bigint;
