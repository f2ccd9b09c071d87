-- How far the Merkle log has come: one row. The tiles below hold its hashes; what they hold beyond the size does not count.
CREATE TABLE audit_tree (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  size     bigint NOT NULL
);
