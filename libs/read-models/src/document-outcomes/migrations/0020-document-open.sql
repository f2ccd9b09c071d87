-- The phase of each document that has no outcome yet, in the list's order. It changes with every event: in an index of the wide table it would make
-- each of these updates write to all the indexes there. Kept by the same projection; a row goes when its document gets its outcome.
CREATE TABLE document_open (
  registered_position bigint PRIMARY KEY,
  registered_at       timestamptz NOT NULL,
  phase               text NOT NULL
);
INSERT INTO document_open SELECT registered_position, registered_at, phase FROM document_outcome WHERE outcome IS NULL;
