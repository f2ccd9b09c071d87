-- A group that halted is resumed once: whoever has this row is the one.
CREATE TABLE group_resumption (
  group_id   uuid PRIMARY KEY,
  command_id text COLLATE "C" NOT NULL REFERENCES command
);
