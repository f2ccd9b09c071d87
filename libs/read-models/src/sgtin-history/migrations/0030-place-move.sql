-- Documents that moved all that a place held (432, 812). They are few, and count for a pack when it is asked for.
CREATE TABLE place_move (
  position bigint NOT NULL,
  place    text COLLATE "C" NOT NULL,
  PRIMARY KEY (position, place)
);
