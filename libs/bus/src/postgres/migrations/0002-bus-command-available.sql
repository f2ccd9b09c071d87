-- The order in which commands are taken.
CREATE INDEX bus_command_available ON bus_command (available_at);
