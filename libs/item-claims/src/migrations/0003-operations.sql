-- Documents that a recall may name: by request_id, or by the id under which the registry took them. A row stays.
CREATE TABLE item_operation (
  request_id      text COLLATE "C" PRIMARY KEY,
  document_sha256 text NOT NULL,
  document_id     text COLLATE "C"
);
CREATE INDEX item_operation_document ON item_operation (document_id) WHERE document_id IS NOT NULL;
INSERT INTO item_operation
SELECT request_id, document_sha256, document_id FROM document_outcome
WHERE doc_type IN (300, 313, 333, 334, 335, 341, 342, 360, 363, 431, 470, 541);
