-- The group that a document is a member of, its place there from 0, and the document that a resumption carries in its place.
ALTER TABLE document_outcome ADD COLUMN group_id text, ADD COLUMN group_index integer, ADD COLUMN group_size integer, ADD COLUMN superseded_by text;
