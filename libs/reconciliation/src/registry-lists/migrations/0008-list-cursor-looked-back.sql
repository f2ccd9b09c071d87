-- When the list was last read anew from a day before its cursor, for what it showed too late. Null: never, so that it is due.
ALTER TABLE list_cursor ADD COLUMN looked_back_at timestamptz;
