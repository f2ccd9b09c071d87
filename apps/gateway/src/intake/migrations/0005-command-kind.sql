-- What a command asked for: a document, or a group (given, the parts of one document, what is left of a halted one), or a member of a group.
ALTER TABLE command ADD COLUMN kind text NOT NULL DEFAULT 'document' CHECK (kind IN ('document', 'group', 'split', 'resumption', 'member'));
