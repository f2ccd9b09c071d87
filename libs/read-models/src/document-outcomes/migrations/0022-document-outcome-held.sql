-- Predecessors that ended badly, for which a document is held, as [{"requestId", "commandId", "outcome", "since"}].
ALTER TABLE document_outcome ADD COLUMN held_for jsonb NOT NULL DEFAULT '[]';
