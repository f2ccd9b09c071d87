-- One row for each case: how it stands, what it is about, and the state of its stream at the version, from which whoever
-- records a run decides without reading the stream.
CREATE TABLE reconciliation_case (
  case_id           text COLLATE "C" PRIMARY KEY,
  opened_position   bigint NOT NULL,
  position          bigint NOT NULL,
  version           integer NOT NULL,
  code              text COLLATE "C" NOT NULL,
  severity          text COLLATE "C" NOT NULL,
  phase             text COLLATE "C" NOT NULL,
  cause_kind        text COLLATE "C" NOT NULL,
  document          text COLLATE "C",
  container         text COLLATE "C",
  gtin              text COLLATE "C",
  series            text COLLATE "C",
  place             text COLLATE "C",
  part_of           text COLLATE "C",
  assignee          text,
  first_seen_at     timestamptz NOT NULL,
  last_seen_at      timestamptz NOT NULL,
  run_kind          text COLLATE "C" NOT NULL,
  last_run          text COLLATE "C" NOT NULL,
  runs_seen         integer NOT NULL,
  item_count        integer NOT NULL,
  due_at            timestamptz NOT NULL,
  resolved_at       timestamptz,
  remedy_request_id text COLLATE "C",
  state             jsonb NOT NULL
);
