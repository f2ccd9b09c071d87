-- Packs that went into a container while they were on their way: its movements concern each of them by itself.
CREATE INDEX pack_state_transfer ON pack_state (container) WHERE container IS NOT NULL AND transfer IS NOT NULL;
-- A recall may name its operation by the id under which the registry took it.
CREATE INDEX sent_document_taken ON sent_document (document_id);
