-- How many decisions of the list nobody understands; null: none, or a list of packs. Versions of before have none until
-- a rebuild.
ALTER TABLE suspended_list ADD COLUMN not_understood integer;
