-- Whose database this is: one database serves one participant. One row, made at the first start.
CREATE TABLE installation (
  only_one   boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  -- Namespace of every request_id: UUIDv5(id, command id).
  id         uuid NOT NULL DEFAULT gen_random_uuid(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO installation DEFAULT VALUES;
