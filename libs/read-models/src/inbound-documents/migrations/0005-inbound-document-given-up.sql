-- What the registry did not give, for who asks for it again.
CREATE INDEX inbound_document_given_up ON inbound_document (account, seen_position)
  WHERE phase = 'concluded' AND (document_sha256 IS NULL OR (direction = 'outgoing' AND outcome = 'undetermined'));
