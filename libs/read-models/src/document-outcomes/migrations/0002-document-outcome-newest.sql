-- The list is read newest first, page after page, by the log position of the registration: unique, and it never changes.
CREATE UNIQUE INDEX document_outcome_newest ON document_outcome (registered_position);
