-- What a run compares: documents, or packs.
ALTER TABLE reconciliation_request ADD COLUMN kind text NOT NULL DEFAULT 'documents';
