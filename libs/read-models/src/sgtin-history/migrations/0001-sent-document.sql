-- Under which id the registry took a document. Learnt from another event than the conclusion, so it has a place of its own.
CREATE TABLE sent_document (
  request_id  text COLLATE "C" PRIMARY KEY,
  document_id text NOT NULL
);
