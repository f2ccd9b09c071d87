-- Every version of the registry's list of suspended packs that we held, one row a reading.
CREATE TABLE suspended_list (
  position             bigint PRIMARY KEY,
  -- Since when we held it, and when its first page was read.
  held_at              timestamptz NOT NULL,
  fetched_at           timestamptz NOT NULL,
  account              text NOT NULL,
  -- Its content: series, in one order; and what counted with us from here on.
  list_sha256          text COLLATE "C" NOT NULL,
  in_force_sha256      text COLLATE "C" NOT NULL,
  series               integer NOT NULL,
  packs                integer NOT NULL,
  packs_without_series integer NOT NULL,
  appeared             integer NOT NULL,
  vanished             integer NOT NULL,
  calls                integer NOT NULL,
  doubt                text COLLATE "C",
  -- When a person confirmed it.
  confirmed_at         timestamptz
);
