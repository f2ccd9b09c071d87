-- The position of the newest event, in the only row. Whoever appends takes this row last in its transaction and holds it until the
-- commit, so positions are gapless and in commit order: a reader that has seen position n will never meet a smaller one later.
CREATE TABLE event_counter (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  position bigint NOT NULL CHECK (position >= 0)
);
INSERT INTO event_counter (position) VALUES (0);
