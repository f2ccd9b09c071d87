-- A reading of the registry's packs that was asked for: how it is read, and how far it has come.
CREATE TABLE registry_fetch (
  fetch_id      text COLLATE "C" PRIMARY KEY,
  account       text NOT NULL,
  -- filter: all packs of the account's participant. list: the items that were given. auto: the worker chooses.
  way           text NOT NULL,
  -- asked, plan, filter, list, archive, complete, failed, gathered.
  phase         text NOT NULL DEFAULT 'asked',
  reason        text NOT NULL,
  -- Who asked, as in the metadata of events: canonical JSON.
  actor         text NOT NULL,
  -- Items that were given; packs that the registry is expected to have, null: not known.
  items         integer NOT NULL,
  expected      integer,
  -- Of the phase: the number of the next page, pages in all as far as is known, and what a page takes.
  next_page     integer NOT NULL DEFAULT 0,
  pages         integer,
  page_size     integer,
  interval_ms   integer,
  -- Of the filter: where its next page begins, and what tells that nothing was passed over. JSON.
  place         text,
  -- Calls in all; failures in a row, and in words the last one, or why it ended.
  calls         integer NOT NULL DEFAULT 0,
  failures      integer NOT NULL DEFAULT 0,
  problem       text,
  -- Phase that failed, and how often somebody had it go on.
  failed_phase  text,
  resumed       integer NOT NULL DEFAULT 0,
  requested_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
  began_at      timestamptz,
  completed_at  timestamptz
);
