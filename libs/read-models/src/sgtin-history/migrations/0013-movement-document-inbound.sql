-- One that is recognised as ours is found by its registry id, and counts no longer.
CREATE INDEX movement_document_inbound ON movement_document (document_id) WHERE document_id IS NOT NULL;
