CREATE INDEX document_outcome_by_type ON document_outcome (doc_type, registered_at, registered_position);
