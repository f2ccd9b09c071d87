-- Names a message at every delivery, and its dead letter after it. A restore or a new table counts ids anew, so a number would not do.
ALTER TABLE bus_command ADD COLUMN letter_id uuid NOT NULL DEFAULT gen_random_uuid();
