-- What one of them did, the newest first.
CREATE INDEX access_entry_actor ON access_entry (actor_name, position DESC);
