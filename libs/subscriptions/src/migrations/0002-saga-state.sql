-- What a saga remembers of one instance between events, as JSON text. Written and read whole, in the transaction of the page.
CREATE TABLE saga_state (
  saga text NOT NULL,
  key text NOT NULL,
  state text NOT NULL,
  PRIMARY KEY (saga, key)
);
ALTER TABLE saga_state SET (fillfactor = 70);
