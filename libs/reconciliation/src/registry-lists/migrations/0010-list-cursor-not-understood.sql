-- An entry that no reading since has shown to be gone: where the reading began that showed it, what it was, and whether the readings that run now began
-- there or before. Null: there is none.
ALTER TABLE list_cursor ADD COLUMN not_understood_from timestamptz;
ALTER TABLE list_cursor ADD COLUMN not_understood text;
ALTER TABLE list_cursor ADD COLUMN is_read_again boolean;
