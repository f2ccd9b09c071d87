-- Every document that a document list of the registry has shown us, ours too: by its registry id, once, whichever accounts list it. It
-- tells which documents are not ours, which of ours the registry holds already, and where it holds two of one.
CREATE TABLE registry_document (
  document_id  text COLLATE "C" PRIMARY KEY,
  -- Empty where the list shows none.
  request_id   text COLLATE "C" NOT NULL,
  direction    text NOT NULL,
  -- In whose list it stood first.
  account      text NOT NULL,
  doc_type     integer,
  status       text NOT NULL,
  received_at  timestamptz,
  processed_at timestamptz,
  seen_at      timestamptz NOT NULL DEFAULT statement_timestamp()
);
