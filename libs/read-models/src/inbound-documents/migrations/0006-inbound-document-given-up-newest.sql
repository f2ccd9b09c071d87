-- What the registry did not give, newest first, of one account or of all: these are few, so an account is picked out of them.
CREATE INDEX inbound_document_given_up_newest ON inbound_document (seen_position)
  WHERE phase = 'concluded' AND (document_sha256 IS NULL OR (direction = 'outgoing' AND outcome = 'undetermined'));
DROP INDEX inbound_document_given_up;
