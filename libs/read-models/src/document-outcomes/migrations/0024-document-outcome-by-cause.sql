-- By what made a document fail: the few that can be sent again once that is mended.
CREATE INDEX document_outcome_by_cause ON document_outcome (cause, registered_at, registered_position) WHERE cause IS NOT NULL;
