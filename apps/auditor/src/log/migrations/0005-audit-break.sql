-- Where a person said that the log does not go on from what was signed (after a restore, a move, a tampering), each with its signed note. From
-- break n on the log is called by its next origin, and its tree begins anew at the first event. Never changed and never taken away.
CREATE TABLE audit_break (
  number          integer PRIMARY KEY,
  note            text NOT NULL,
  told_at         timestamptz NOT NULL,
  told_by         text NOT NULL,
  reason          text NOT NULL,
  before_size     bigint NOT NULL,
  differs_at_leaf bigint,
  next_origin     text NOT NULL
);
