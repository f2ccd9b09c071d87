-- Predecessors that ended badly, for which a group is held, as [{"requestId", "commandId", "outcome", "since"}].
ALTER TABLE document_group ADD COLUMN held_for jsonb NOT NULL DEFAULT '[]';
ALTER TABLE document_group ALTER COLUMN held_for DROP DEFAULT;
-- The few that are held, for the figures.
CREATE INDEX document_group_held ON document_group (registered_position) WHERE phase = 'held';
