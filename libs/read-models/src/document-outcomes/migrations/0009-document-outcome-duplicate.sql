-- Alarms: hardly any rows, which must be found at once among the many.
CREATE INDEX document_outcome_duplicate ON document_outcome (registered_position) WHERE duplicate;
