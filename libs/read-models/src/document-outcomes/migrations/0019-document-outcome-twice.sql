CREATE INDEX document_outcome_twice ON document_outcome (registered_at, registered_position) WHERE duplicate;
DROP INDEX document_outcome_duplicate;
