-- What was known at a moment.
CREATE INDEX movement_document_recorded ON movement_document (recorded_at, known_from);
