-- How far each account's document lists have been read. It moves in the transaction that also writes what was found.
CREATE TABLE list_cursor (
  account text NOT NULL,
  list    text NOT NULL,
  -- The registry's own time: the next reading begins an overlap before it.
  since   timestamptz NOT NULL,
  -- When a reading last came to the end of the list, or to a refusal of it, by this server's clock.
  read_at timestamptz,
  -- What stood in the way of the last reading; null when nothing did.
  problem text,
  PRIMARY KEY (account, list)
);
