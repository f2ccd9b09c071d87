-- Who claims items: a row for each document of ours that has not concluded, and for each of their groups. `number` is its short name in item_claim.
-- `unit`: its group, or itself. `rank`: the place of the unit in the order, a log position. told_id, told_command: for whom another one waits.
-- `phase`, of a unit: clear (its first send is planned), deciding (a task will tell it to wait), waiting. `change`: what it does to containment.
CREATE TABLE claim_holder (
  id           text COLLATE "C" PRIMARY KEY,
  number       bigint NOT NULL UNIQUE,
  unit         text COLLATE "C" NOT NULL,
  rank         bigint NOT NULL,
  account      text NOT NULL,
  told_id      text COLLATE "C" NOT NULL,
  told_command text NOT NULL,
  phase        text NOT NULL,
  rounds       integer NOT NULL,
  waives       boolean NOT NULL,
  first_send   text NOT NULL,
  change       text
) WITH (fillfactor = 80);
CREATE INDEX claim_holder_member ON claim_holder (unit) WHERE unit <> id;
-- Items that an unconcluded document names (exclusive), and containers around them (intention). `parent`: where it packs the item, if it is accepted.
CREATE TABLE item_claim (
  item         text COLLATE "C" NOT NULL,
  holder       bigint NOT NULL,
  is_exclusive boolean NOT NULL,
  parent       text COLLATE "C",
  PRIMARY KEY (item, holder)
);
CREATE INDEX item_claim_holder ON item_claim (holder);
-- Which unit waits for whom while it is not clear: by its items, or because its command says so (`after`). `rank` of the one that is waited for, where
-- it is known.
CREATE TABLE item_wait (
  predecessor text COLLATE "C" NOT NULL,
  dependent   text COLLATE "C" NOT NULL,
  is_item     boolean NOT NULL,
  rank        bigint,
  PRIMARY KEY (predecessor, dependent)
);
CREATE INDEX item_wait_dependent ON item_wait (dependent);
-- Which container each item is in, as far as concluded documents tell. In doubt an item stays inside.
CREATE TABLE item_container (
  child  text COLLATE "C" PRIMARY KEY,
  parent text COLLATE "C" NOT NULL
);
CREATE INDEX item_container_parent ON item_container (parent);
-- Up to this position the version before planned the first sends: nothing is planned for those again.
CREATE TABLE item_claim_start (position bigint PRIMARY KEY);
