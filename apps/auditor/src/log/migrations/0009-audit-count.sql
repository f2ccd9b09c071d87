-- How far the events of each stream are counted. An epoch ends with a signed note, which becomes an event of the log at statement_position; the next
-- epoch begins when that is signed. Two epochs that ended are kept, and the one that is being counted.
CREATE TABLE audit_count (
  epoch              bigint PRIMARY KEY,
  leaves             bigint NOT NULL,
  streams            bigint NOT NULL,
  note               text,
  statement_position bigint
);
-- Counts of streams, in buckets by the digest of their names: the rows of a bucket at an epoch are those of the newest epoch up to it.
CREATE TABLE audit_count_bucket (
  bucket  integer NOT NULL,
  epoch   bigint NOT NULL,
  hash    bytea NOT NULL,
  entries bytea NOT NULL,
  PRIMARY KEY (bucket, epoch)
);
