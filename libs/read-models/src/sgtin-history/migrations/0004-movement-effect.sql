-- What a document did, said once for all its items to which it did the same: a document of 100 packs has one or two of these.
-- containment is packed (into container), taken_out, opened or opened_all (what nests in
-- it is opened too); only for results that were applied.
CREATE TABLE movement_effect (
  known_from  bigint NOT NULL,
  effect      integer NOT NULL,
  result      text NOT NULL,
  status      text,
  place       text,
  error_code  text,
  error_text  text,
  containment text,
  container   text COLLATE "C",
  PRIMARY KEY (known_from, effect)
);
