CREATE INDEX document_open_by_phase ON document_open (phase, registered_at, registered_position);
