CREATE INDEX document_outcome_by_reference ON document_outcome (reference, registered_at, registered_position) WHERE reference IS NOT NULL;
DROP INDEX document_outcome_reference;
