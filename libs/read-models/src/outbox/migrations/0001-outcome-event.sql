-- What the ERP is told, in log order: each row is one CloudEvents 1.0 event, byte for byte as it is published, fed and posted.
CREATE TABLE outcome_event (
  -- Log position of the event that it tells of: its sequence, and the place in every cursor.
  position    bigint PRIMARY KEY,
  -- The CloudEvent's id: UUIDv5 of the event's id, so that the same event again has the same.
  id          uuid NOT NULL UNIQUE,
  type        text NOT NULL,
  -- Routing key on the bus.
  topic       text NOT NULL,
  -- What keeps its order: the request_id of the document.
  subject     text NOT NULL,
  body        text NOT NULL,
  recorded_at timestamptz NOT NULL
);
