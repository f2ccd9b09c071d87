-- From when on a list was read without a gap: the first reading's beginning. Null for a list that was not read since this column is there.
ALTER TABLE list_cursor ADD COLUMN covered_from timestamptz;
