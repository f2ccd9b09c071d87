-- One row for each suspension, by the list or by letters: how it stands, and the state of its stream.
CREATE TABLE suspension (
  suspension_id   text COLLATE "C" PRIMARY KEY,
  opened_position bigint NOT NULL,
  position        bigint NOT NULL,
  source          text COLLATE "C" NOT NULL,
  phase           text COLLATE "C" NOT NULL,
  action          text COLLATE "C" NOT NULL,
  -- Its packs must not be sold or sent on.
  in_force        boolean NOT NULL,
  changed_at      timestamptz NOT NULL,
  state           jsonb NOT NULL,
  -- Every series that it was ever matched with: [{"gtin": ..., "series": ...}].
  matched         jsonb NOT NULL
);
