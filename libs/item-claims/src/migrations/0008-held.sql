-- Those that are held are few. They are looked for wherever a document that waits is met in a place.
CREATE INDEX claim_holder_held ON claim_holder (id) WHERE is_held;
