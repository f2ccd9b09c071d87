-- Whether a document comes late: after one that the registry accepted later.
CREATE INDEX movement_document_ordered ON movement_document (ordered_at);
