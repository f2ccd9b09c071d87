-- When a list first showed the status, by this server's clock: a status that is older than our own knowledge contradicts nothing.
ALTER TABLE registry_document ADD COLUMN status_at timestamptz NOT NULL DEFAULT statement_timestamp();
