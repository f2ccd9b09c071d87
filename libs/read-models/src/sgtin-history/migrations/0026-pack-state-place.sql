CREATE INDEX pack_state_place ON pack_state (place, item);
