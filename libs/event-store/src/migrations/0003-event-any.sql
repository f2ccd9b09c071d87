-- The events that were appended with expected version `any`. Such an append has no version to be recognised by when it is repeated, so
-- its event ids are looked up here. Appends with an expected version need no row: the event at the next version tells.
CREATE TABLE event_any (
  stream text NOT NULL,
  id uuid NOT NULL,
  version int NOT NULL,
  PRIMARY KEY (stream, id)
);
