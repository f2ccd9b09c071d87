-- The embedded bus: messages that were put aside, with why. They stay until somebody replays them.
CREATE TABLE bus_dead_letter (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  -- Which came first, where two were put aside at one moment.
  number bigint GENERATED ALWAYS AS IDENTITY,
  dead_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  code text NOT NULL,
  reason text NOT NULL,
  deliveries integer NOT NULL,
  message_id text,
  content_type text NOT NULL,
  headers jsonb NOT NULL,
  body bytea NOT NULL
);
