-- Evidence under the SHA-256 of its bytes. What is stored is compressed already where that helps, so PostgreSQL must not try again
-- (EXTERNAL), and rows that fit in a page stay there instead of being cut into 2 KB pieces elsewhere (toast_tuple_target).
CREATE TABLE evidence (
  sha256 bytea PRIMARY KEY,
  stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Of the bytes themselves, before compression.
  byte_length integer NOT NULL,
  -- 0: the bytes as they are; 1: zlib (RFC 1950).
  encoding smallint NOT NULL,
  media_type text NOT NULL,
  content bytea NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE evidence ALTER COLUMN content SET STORAGE EXTERNAL;
