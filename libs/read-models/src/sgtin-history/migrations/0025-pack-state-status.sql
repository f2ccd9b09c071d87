CREATE INDEX pack_state_status ON pack_state (status, item);
