-- By outcome; those that have none yet lie together too, and the two partial indexes for them and for trouble are not needed any more.
CREATE INDEX document_outcome_by_outcome ON document_outcome (outcome, registered_at, registered_position);
DROP INDEX document_outcome_unfinished;
DROP INDEX document_outcome_trouble;
