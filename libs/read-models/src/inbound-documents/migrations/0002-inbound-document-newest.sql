-- The list is read newest first, page after page, by the log position at which each was first seen.
CREATE UNIQUE INDEX inbound_document_newest ON inbound_document (seen_position);
