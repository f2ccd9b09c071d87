-- Of a filter: only packs whose last operation was from here on. Null: all of them.
ALTER TABLE registry_fetch ADD COLUMN moved_from timestamptz;
