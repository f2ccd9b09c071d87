-- Which events are which leaves: a run of events after a position of the log, and the leaf of the first of them.
CREATE TABLE audit_page (
  first_leaf     bigint PRIMARY KEY,
  after_position bigint NOT NULL,
  last_position  bigint NOT NULL UNIQUE,
  leaves         integer NOT NULL
);
