-- Packs of a series; an item begins with its GTIN.
CREATE INDEX pack_state_series ON pack_state (series, item) WHERE series IS NOT NULL;
