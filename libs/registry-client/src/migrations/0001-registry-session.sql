-- One row per account: the token that all processes share, and who is signing in (DESIGN section 6, Sessions).
-- The lease is judged by the database's clock; the times of the token by the clock of the processes.
CREATE TABLE registry_session (
  account          text PRIMARY KEY,
  -- Counts the tokens; a 401 speaks of one generation and never of a later one.
  generation       bigint NOT NULL DEFAULT 0,
  -- AES-256-GCM; null when there is no token or the registry refused it.
  token_cipher     bytea,
  obtained_at      timestamptz,
  expires_at       timestamptz,
  -- Null until the registry accepted the token once; then written at most once a minute by each process.
  last_used_at     timestamptz,
  -- Until when each token that we no longer use may still live at the registry, which allows ten per user.
  abandoned_until  timestamptz[] NOT NULL DEFAULT '{}',
  -- Failed sign-ins, and tokens refused at once, since the last success; and no sign-in before.
  failures         integer NOT NULL DEFAULT 0,
  paused_until     timestamptz,
  signing_in_until timestamptz,
  signing_in_by    uuid
);
