-- Addresses to which outcomes are posted, for those without a bus. How far each has come is in outcome_delivery, as `webhook:<id>`.
CREATE TABLE webhook (
  id            uuid PRIMARY KEY,
  url           text NOT NULL,
  description   text,
  -- Encrypted with the installation's key; the id is bound in.
  sealed_secret bytea NOT NULL,
  created_by    text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
