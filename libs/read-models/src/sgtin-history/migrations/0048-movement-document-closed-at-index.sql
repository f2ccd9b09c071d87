-- What was known at a moment.
CREATE INDEX movement_document_closed_at ON movement_document (closed_at, known_to) WHERE closed_at IS NOT NULL;
