-- Leases of a task that ran out in a row, with no result in between: who works on it dies or stands still each time.
ALTER TABLE task ADD COLUMN leases_lost integer NOT NULL DEFAULT 0;
