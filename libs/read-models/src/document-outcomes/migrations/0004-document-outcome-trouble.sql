CREATE INDEX document_outcome_trouble ON document_outcome (outcome, registered_position) WHERE outcome IN ('partial', 'rejected', 'failed');
