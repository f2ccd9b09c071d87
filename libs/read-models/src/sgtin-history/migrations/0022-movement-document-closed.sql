-- What a range of positions closed.
CREATE INDEX movement_document_closed ON movement_document (known_to) WHERE known_to IS NOT NULL;
