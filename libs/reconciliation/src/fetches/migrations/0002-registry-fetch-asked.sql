-- Items that a fetch asks for by list, some hundred a row, one a line. Removed when the snapshot is written.
CREATE TABLE registry_fetch_asked (
  fetch_id text COLLATE "C" NOT NULL,
  -- list or archive.
  phase    text NOT NULL,
  n        integer NOT NULL,
  items    text NOT NULL,
  PRIMARY KEY (fetch_id, phase, n)
);
