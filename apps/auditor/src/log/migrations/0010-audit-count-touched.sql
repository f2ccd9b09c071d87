-- When an epoch was last worked on: what a process that is gone has left open is begun anew.
ALTER TABLE audit_count ADD COLUMN touched_at timestamptz NOT NULL DEFAULT clock_timestamp();
