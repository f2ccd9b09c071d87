-- API keys, stored hashed. A revoked key stays, so that the actor of old events remains known.
CREATE TABLE api_key (
  name       text PRIMARY KEY,
  key_sha256 bytea NOT NULL UNIQUE,
  roles      text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);
