-- A row per pack and per container that a document moved: its state right after the last document that named it. While it is in a container
-- (container), what has happened to that since is in pack_stay, under (container, position): so a container of 10,000 packs moves without
-- touching their rows. position and at_micros are that document's place in the registry's order, status_from and place_from tell which
-- document said so, doubt_from which one left it undetermined since,
-- series_from which one told series and expiry, first_from which one moved it first.
CREATE TABLE pack_state (
  item        text COLLATE "C" PRIMARY KEY,
  at_micros   bigint NOT NULL,
  position    bigint NOT NULL,
  first_from  bigint NOT NULL,
  status_from bigint,
  place_from  bigint,
  doubt_from  bigint,
  series_from bigint,
  expires_on  date,
  suspended   boolean NOT NULL,
  status      text COLLATE "C",
  place       text COLLATE "C",
  container   text COLLATE "C",
  series      text COLLATE "C"
);
