-- What was done within a time. Positions go with the clock of the log, but for what an administrator does to it.
CREATE INDEX access_entry_at ON access_entry (at);
