-- Where a large document that was announced goes up, and how far it has come. Gone when the document is taken.
CREATE TABLE upload_link (
  request_id     uuid PRIMARY KEY,
  document_id    text NOT NULL,
  -- AES-256-GCM: whoever has the link may be able to write there.
  link_cipher    bytea NOT NULL,
  uploaded_bytes bigint NOT NULL DEFAULT 0,
  kept_at        timestamptz NOT NULL DEFAULT now()
);
