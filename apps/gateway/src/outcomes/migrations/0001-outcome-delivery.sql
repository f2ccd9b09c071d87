-- How far each way out has come: the bus, and each webhook. Everything up to and including `position` was confirmed by the other side.
CREATE TABLE outcome_delivery (
  -- `bus`, or `webhook:<id>`.
  name            text PRIMARY KEY,
  position        bigint NOT NULL DEFAULT 0,
  -- The process that delivers now. Another may take it when the lease has run out.
  holder          uuid,
  held_until      timestamptz,
  -- Failures in a row, the newest reason, and when the next attempt may be made.
  failures        integer NOT NULL DEFAULT 0,
  last_error      text,
  next_attempt_at timestamptz,
  -- Set when it was given up: nothing goes out until somebody resumes it.
  halted_at       timestamptz,
  updated_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
