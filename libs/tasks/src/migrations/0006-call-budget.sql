-- The next allowed moment per account and method, by this server's clock, and what 429s have taught. One short row, updated in place.
CREATE TABLE call_budget (
  account text NOT NULL,
  method text NOT NULL,
  -- The latest slot that was reserved, and the first moment at which another may begin.
  slot_at timestamptz NOT NULL,
  next_allowed_at timestamptz NOT NULL,
  -- Grows with each reservation: who still finds its own number here knows that nobody reserved behind it.
  reservation bigint NOT NULL DEFAULT 1,
  -- Null while the profile's interval is in force; never below it.
  learnt_interval_ms double precision,
  -- Added to the base guard by 429s.
  extra_guard_ms double precision NOT NULL DEFAULT 0,
  -- 429s that followed each other, and slots reserved since the last one.
  refusals integer NOT NULL DEFAULT 0,
  quiet_calls integer NOT NULL DEFAULT 0,
  last_429_at timestamptz,
  PRIMARY KEY (account, method)
) WITH (fillfactor = 20);
