CREATE INDEX pack_stay_status ON pack_stay (status) WHERE status IS NOT NULL;
