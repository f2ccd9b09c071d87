-- What documents, and the registry's answers, say of series and expiry: of one pack, of what a container holds (item), or of all that the
-- document names (item is empty); of one product (gtin) or any.
CREATE TABLE series_told (
  position   bigint NOT NULL,
  ordinal    integer NOT NULL,
  expires_on date,
  item       text COLLATE "C" NOT NULL,
  gtin       text COLLATE "C" NOT NULL,
  series     text COLLATE "C",
  PRIMARY KEY (position, ordinal)
);
