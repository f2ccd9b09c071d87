-- One narrow row per item per document: the bulk of the database. Columns are laid out without gaps, the document's facts are in
-- movement_document and movement_effect. ordinal tells apart an item that one document names twice. By hash of the item, so that each
-- index stays shallow and one item's life lies together.
CREATE TABLE item_movement (
  known_from bigint NOT NULL,
  effect     integer NOT NULL,
  ordinal    smallint NOT NULL,
  item       text COLLATE "C" NOT NULL,
  PRIMARY KEY (item, known_from, ordinal)
) PARTITION BY HASH (item);
