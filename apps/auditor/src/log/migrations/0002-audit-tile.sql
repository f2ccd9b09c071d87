-- Tiles of 256 hashes, one behind the other (C2SP tlog-tiles): level L holds every eighth level of the tree.
CREATE TABLE audit_tile (
  level  smallint NOT NULL,
  index  bigint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (level, index)
);
