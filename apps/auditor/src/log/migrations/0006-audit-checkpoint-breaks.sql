-- After how many breaks a checkpoint was signed: each break begins a tree of its own, in which a size comes again.
ALTER TABLE audit_checkpoint ADD COLUMN breaks integer NOT NULL DEFAULT 0;
ALTER TABLE audit_checkpoint DROP CONSTRAINT audit_checkpoint_pkey;
ALTER TABLE audit_checkpoint ADD PRIMARY KEY (breaks, size);
