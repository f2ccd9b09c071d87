-- What a container holds, and which packs share a stay.
CREATE INDEX pack_state_content ON pack_state (container, position, item) WHERE container IS NOT NULL;
