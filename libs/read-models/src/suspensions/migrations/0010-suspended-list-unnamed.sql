-- How many of those that are not understood have no id: a person who confirms the list answers for these. Null: none.
ALTER TABLE suspended_list ADD COLUMN unnamed integer;
