-- Runs of documents and of packs see a case each by themselves: decision 110. Of a case that both have told, an earlier
-- version kept the last one alone: the log has the others.
ALTER TABLE reconciliation_case ADD COLUMN packs_seen_at timestamptz, ADD COLUMN packs_runs jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN documents_seen_at timestamptz;
UPDATE reconciliation_case SET packs_seen_at = last_seen_at, packs_runs = jsonb_build_array(last_run)
  WHERE run_kind = 'packs';
UPDATE reconciliation_case SET documents_seen_at = last_seen_at WHERE run_kind = 'documents';
-- Each row keeps the state of its case, in which the sightings of both kinds are new.
DO $$ BEGIN
  IF EXISTS (SELECT FROM reconciliation_case) THEN
    COMMENT ON TABLE reconciliation_case IS 'rebuild: an older version kept the last sighting of a case alone';
  END IF;
END $$;
