-- How far each subscription has come: everything up to `position` is handled. The row's lock is what makes a page count once; holder and
-- held_until only spare a standing-by process the attempt.
CREATE TABLE checkpoint (
  name text PRIMARY KEY,
  position bigint NOT NULL CHECK (position >= 0),
  updated_at timestamptz NOT NULL,
  holder text,
  held_until timestamptz
);
-- A row per subscription, rewritten with every page: room for new versions in the same page spares the index.
ALTER TABLE checkpoint SET (fillfactor = 20);
