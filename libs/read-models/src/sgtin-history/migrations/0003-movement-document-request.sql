-- A revision finds what it revises by the request_id.
CREATE INDEX movement_document_request ON movement_document (request_id);
