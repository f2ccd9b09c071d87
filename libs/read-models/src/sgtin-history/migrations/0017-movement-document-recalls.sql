-- A recall (250) names the operation that it makes as if it had not been, and no items. recorded_at: a date is turned into a log position by it.
ALTER TABLE movement_document ADD COLUMN recalls text COLLATE "C", ADD COLUMN recorded_at timestamptz;
