-- Instances of sagas that one of their events could not be worked on for, and what is held for them, in order. An instance has a row here for as
-- long as it has held events; both change only in a transaction that holds the saga's checkpoint.
CREATE TABLE parked_instance (
  saga text NOT NULL,
  key text NOT NULL,
  error text NOT NULL,
  parked_at timestamptz NOT NULL,
  attempts int NOT NULL CHECK (attempts > 0),
  tried_at timestamptz NOT NULL,
  PRIMARY KEY (saga, key)
);
-- The events themselves stay in the log: stream and version name them there.
CREATE TABLE held_event (
  saga text NOT NULL,
  key text NOT NULL,
  position bigint NOT NULL,
  stream text NOT NULL,
  version int NOT NULL,
  PRIMARY KEY (saga, key, position),
  FOREIGN KEY (saga, key) REFERENCES parked_instance (saga, key)
);
