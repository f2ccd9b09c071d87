CREATE INDEX pack_stay_place ON pack_stay (place) WHERE place IS NOT NULL;
