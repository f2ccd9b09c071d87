-- What was sent or not processed keeps no hold and no wait any more; older versions kept them: decision 70.
DO $$ BEGIN
  IF EXISTS (SELECT FROM document_outcome WHERE phase NOT IN ('waiting', 'held')
    AND (waiting_for <> '[]' OR held_for <> '[]')) THEN
    COMMENT ON TABLE document_outcome IS 'rebuild: an older version kept the holds of what was sent or ended';
  END IF;
END $$;
