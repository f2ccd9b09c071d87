-- The recalls of an operation.
CREATE INDEX movement_document_recalled ON movement_document (recalls) WHERE recalls IS NOT NULL;
