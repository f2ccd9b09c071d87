-- The newest one that we held at a moment.
CREATE INDEX suspended_list_held ON suspended_list (held_at DESC, position DESC);
