-- Each packing of an item into a container: where an interval of containment begins. Where it ends follows from the item's next change of
-- containment or the opening of its container (function containment_of), so a late document closes intervals without touching a row.
CREATE TABLE containment (
  known_from bigint NOT NULL,
  ordinal    smallint NOT NULL,
  child      text COLLATE "C" NOT NULL,
  parent     text COLLATE "C" NOT NULL,
  PRIMARY KEY (child, known_from, ordinal)
);
