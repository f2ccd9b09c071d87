CREATE INDEX document_outcome_by_account ON document_outcome (account, registered_at, registered_position);
