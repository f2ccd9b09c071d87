-- For a document that we did not send: the registry's id of it, and by which way it came. Both are null for documents of ours.
ALTER TABLE movement_document ADD COLUMN document_id text COLLATE "C", ADD COLUMN channel text;
