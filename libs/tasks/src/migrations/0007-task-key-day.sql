-- The day on which a key was scheduled, so that very old keys can go. It takes the place of padding: a row is as large as before. The keys that are
-- here count from the day of this migration. Equal days share an index entry, so the index costs about seven bytes a key.
ALTER TABLE task_key ADD COLUMN scheduled_on date NOT NULL DEFAULT current_date;
CREATE INDEX task_key_day ON task_key (scheduled_on);
