-- Of a run about packs that the reconciler is to make: what it was asked for, canonical JSON, and since when it has it.
ALTER TABLE reconciliation_request ADD COLUMN asked text, ADD COLUMN taken_at timestamptz,
  -- How far it is, canonical JSON: step, done, of, and the seconds that are left.
  ADD COLUMN estimate text,
  -- What a run found that is not recorded in the log: its two events, canonical JSON.
  ADD COLUMN dry_result text;
