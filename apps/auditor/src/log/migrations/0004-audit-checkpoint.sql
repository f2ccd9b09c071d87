-- Signed checkpoints, as they were signed (C2SP tlog-checkpoint). Never changed and never taken away.
CREATE TABLE audit_checkpoint (
  size      bigint PRIMARY KEY,
  root      bytea NOT NULL,
  note      text NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
