-- The ERP asks by its own reference.
CREATE INDEX document_outcome_reference ON document_outcome (reference, registered_position) WHERE reference IS NOT NULL;
