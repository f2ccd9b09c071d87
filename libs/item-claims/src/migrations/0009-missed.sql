-- A document that ended badly while the dependent waited, and of which that was not told: a wait names the newest claims, and not all. As an
-- ItemPredecessor; it is told when the dependent is decided about next. `is_shielded`: not while one between the two is held for it.
ALTER TABLE item_wait ADD COLUMN missed jsonb, ADD COLUMN is_shielded boolean NOT NULL DEFAULT false;
