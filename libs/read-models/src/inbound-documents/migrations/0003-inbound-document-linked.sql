-- What belongs to a document of ours.
CREATE INDEX inbound_document_linked ON inbound_document (linked_request_id, seen_position) WHERE linked_request_id IS NOT NULL;
