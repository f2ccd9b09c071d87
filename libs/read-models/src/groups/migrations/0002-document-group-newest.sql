-- The list goes from the newest registration backwards.
CREATE INDEX document_group_newest ON document_group (registered_position DESC);
