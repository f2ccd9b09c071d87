-- One sentence of the alarm of duplicates has other words now: decision 70.
DO $$ BEGIN
  IF EXISTS (SELECT FROM outcome_event WHERE body LIKE '%the registry holds more than one document under this%') THEN
    COMMENT ON TABLE outcome_event IS 'rebuild: an older version told duplicates in other words';
  END IF;
END $$;
