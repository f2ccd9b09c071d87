-- A document that waits is not held: its sentence says so now.
DO $$ BEGIN
  IF EXISTS (SELECT FROM outcome_event WHERE type LIKE '%.waiting.v1' AND body LIKE '%"Held until %') THEN
    COMMENT ON TABLE outcome_event IS 'rebuild: an older version said of documents that wait that they are held';
  END IF;
END $$;
