-- Since when the findings of a run are gone, or going. Null: all are there.
ALTER TABLE reconciliation_request ADD COLUMN findings_removed_at timestamptz;
