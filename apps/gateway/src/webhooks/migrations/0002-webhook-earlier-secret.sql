-- While a secret is changed, the one before signs too, until a moment.
ALTER TABLE webhook ADD COLUMN earlier_sealed_secret bytea, ADD COLUMN earlier_until timestamptz;
