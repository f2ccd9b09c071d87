-- What is followed is little: the oldest of it, and its list, are found among it alone.
CREATE INDEX inbound_document_followed ON inbound_document (seen_position) WHERE phase = 'followed';
