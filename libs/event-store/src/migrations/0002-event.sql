-- The log. data and metadata are RFC 8785 (canonical JSON) text in UTF-8, kept as bytes because they are hashed as they stand here.
CREATE TABLE event (
  position bigint PRIMARY KEY,
  stream text NOT NULL,
  version int NOT NULL CHECK (version >= 0),
  id uuid NOT NULL,
  type text NOT NULL,
  schema_version int NOT NULL,
  data bytea NOT NULL,
  metadata bytea NOT NULL,
  recorded_at timestamptz NOT NULL,
  UNIQUE (stream, version)
);
-- Events of a few kilobytes stay in their row: nearly every reader wants the data, and compressing it costs more than it saves.
ALTER TABLE event SET (toast_tuple_target = 8160);
