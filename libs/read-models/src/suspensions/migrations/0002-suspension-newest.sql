-- The list goes from the newest suspension backwards.
CREATE INDEX suspension_newest ON suspension (opened_position DESC);
