-- In which form the leaves of a page were sealed: 1 is the whole event, 2 names its data and metadata by their SHA-256. Without a default, a program of
-- an older version seals nothing behind the first page of form 2.
ALTER TABLE audit_page ADD COLUMN form smallint NOT NULL DEFAULT 1 CHECK (form IN (1, 2));
ALTER TABLE audit_page ALTER COLUMN form DROP DEFAULT;
-- Where the newer form begins.
CREATE INDEX audit_page_digests ON audit_page (first_leaf) WHERE form = 2;
