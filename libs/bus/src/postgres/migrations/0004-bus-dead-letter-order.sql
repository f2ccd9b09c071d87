-- The order in which dead letters are listed.
CREATE INDEX bus_dead_letter_order ON bus_dead_letter (dead_at, number);
