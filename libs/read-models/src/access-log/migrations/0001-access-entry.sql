-- One row for each event that tells who was given, did or changed what: the answer to "who did what". Events stay the
-- truth: stream and version say which one it is, to have it proven.
CREATE TABLE access_entry (
  position         bigint PRIMARY KEY,
  stream           text COLLATE "C" NOT NULL,
  version          integer NOT NULL,
  type             text COLLATE "C" NOT NULL,
  kind             text COLLATE "C" NOT NULL,
  at               timestamptz NOT NULL,
  actor_kind       text COLLATE "C" NOT NULL,
  actor_name       text COLLATE "C" NOT NULL,
  authenticated_by text COLLATE "C" NOT NULL,
  reason           text,
  objects          jsonb NOT NULL,
  details          jsonb NOT NULL
);
