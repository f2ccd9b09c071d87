-- Who had to do with an object.
CREATE INDEX access_entry_objects ON access_entry USING gin (objects);
