-- Since when no reading has shown the whole list; null: the last one did, or nothing stood in its way so far.
ALTER TABLE list_cursor ADD COLUMN unread_since timestamptz;
