-- True once the first event of this installation was seen in the log: a log that does not have it any more is another one, or has lost its beginning.
ALTER TABLE log_place ADD COLUMN installation_seen boolean NOT NULL DEFAULT false;
