-- Every key ever scheduled, as the first 128 bits of its SHA-256: what makes scheduling idempotent for ever. The live table
-- below stays small, because a task that is done is deleted from it; this one only grows, by about 84 bytes a task with its index.
CREATE TABLE task_key (
  digest bytea PRIMARY KEY
);
