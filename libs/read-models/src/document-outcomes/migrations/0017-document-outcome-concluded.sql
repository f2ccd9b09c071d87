-- What is concluded, of any outcome: the newest page of it may lie behind a long backlog.
CREATE INDEX document_outcome_concluded ON document_outcome (registered_at, registered_position) WHERE outcome IS NOT NULL;
