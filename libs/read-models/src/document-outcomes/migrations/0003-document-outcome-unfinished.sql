-- What is in flight, and what went wrong: few rows among many, found without reading the many. A row enters or leaves each once.
CREATE INDEX document_outcome_unfinished ON document_outcome (registered_position) WHERE outcome IS NULL;
