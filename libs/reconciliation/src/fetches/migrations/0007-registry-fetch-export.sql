-- By an export: how far the order is, JSON. And how old rows may be so that an export may be chosen; null: not at all.
ALTER TABLE registry_fetch ADD COLUMN export_order text, ADD COLUMN fresh_hours integer;
