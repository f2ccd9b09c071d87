-- Rows are added in the order of the log, so a few bytes per block range find all rows of a range of positions.
CREATE INDEX item_movement_range ON item_movement USING brin (known_from) WITH (pages_per_range = 16, autosummarize = on);
