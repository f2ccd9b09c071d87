-- Finds the commands that name another one in `after`: only through these can a new command wait for itself. Commands without `after` are not in it.
CREATE INDEX command_after ON command USING gin (after_commands) WITH (fastupdate = off) WHERE after_commands <> '[]';
