-- What the movements of a container, and of those around it, did since position to what was in it then: to a pack that was suspended before
-- (paused_status) and to any other (status); NULL where they left things as they were. ended_position: the opening that let it out.
CREATE TABLE pack_stay (
  container      text COLLATE "C" NOT NULL,
  position       bigint NOT NULL,
  at_micros      bigint NOT NULL,
  moved_from     bigint,
  status_from    bigint,
  place_from     bigint,
  doubt_from     bigint,
  ended_micros   bigint,
  ended_position bigint,
  status         text COLLATE "C",
  paused_status  text COLLATE "C",
  place          text COLLATE "C",
  PRIMARY KEY (container, position)
);
