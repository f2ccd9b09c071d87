-- Runs that were asked for, by a person or by the day. What became of one stands in the log, in its stream run-<id>.
CREATE TABLE reconciliation_request (
  run_id       text COLLATE "C" PRIMARY KEY,
  requested_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  reason       text NOT NULL,
  -- Who asked, as in the metadata of events: canonical JSON.
  actor        text NOT NULL
);
