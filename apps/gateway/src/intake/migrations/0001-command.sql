-- Every command that was acknowledged. The commit of this row is the acknowledgement (DESIGN section 3, intake).
CREATE TABLE command (
  command_id      text COLLATE "C" PRIMARY KEY,
  request_id      uuid NOT NULL,
  -- SHA-256 of the canonical body as received: the same id with another digest is refused.
  body_sha256     bytea NOT NULL,
  document_sha256 bytea NOT NULL,
  account         text NOT NULL,
  actor           jsonb NOT NULL,
  received_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
