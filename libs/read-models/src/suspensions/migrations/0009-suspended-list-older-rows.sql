-- Decisions that nobody understood were recorded before the table had a column for them: decision 70.
DO $$ BEGIN
  IF EXISTS (SELECT FROM suspended_list WHERE source = 'decisions' AND not_understood IS NULL) THEN
    COMMENT ON TABLE suspended_list IS 'rebuild: an older version wrote rows without not_understood';
  END IF;
END $$;
