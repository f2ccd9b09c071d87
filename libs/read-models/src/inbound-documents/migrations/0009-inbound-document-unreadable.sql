-- What came in bytes that cannot be read is asked for again as what was not given.
CREATE INDEX inbound_document_given_up_or_unreadable ON inbound_document (seen_position) WHERE phase = 'concluded'
  AND (document_sha256 IS NULL OR problem IS NOT NULL OR (direction = 'outgoing' AND outcome = 'undetermined'));
DROP INDEX inbound_document_given_up_newest;
