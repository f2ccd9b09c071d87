-- The members of a group, for what is asked of groups: few documents belong to one.
CREATE INDEX document_outcome_of_group ON document_outcome (group_id) WHERE group_id IS NOT NULL;
