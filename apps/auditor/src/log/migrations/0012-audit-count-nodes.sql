-- Hashes of the 128 subtrees of 128 buckets each, one behind the other: whoever proves a count then reads 128 hashes of buckets and not all. Absent where
-- an older version counted.
ALTER TABLE audit_count ADD COLUMN nodes bytea;
