-- A send asks whether the registry holds its request_id already.
CREATE INDEX registry_document_request ON registry_document (request_id) WHERE direction = 'outgoing' AND request_id <> '';
