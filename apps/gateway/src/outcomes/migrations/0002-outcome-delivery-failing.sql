-- Since when nothing was taken, though it was tried. Of what fails already the newest attempt is known.
ALTER TABLE outcome_delivery ADD COLUMN failing_since timestamptz;
UPDATE outcome_delivery SET failing_since = updated_at WHERE failures > 0;
