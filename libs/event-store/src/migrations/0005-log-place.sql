-- Where the event log of this installation lies, in the only row: `database` (the table event) or `server` (EventStoreDB or KurrentDB). Checkpoints and
-- read models count in the positions of that log, and would mean nothing beside another. An installation that has events already has them here.
CREATE TABLE log_place (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  place text NOT NULL CHECK (place IN ('database', 'server')),
  chosen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO log_place (place) SELECT 'database' FROM event_counter WHERE position > 0;
