-- A group that was resumed, and accepted after all, says that both count. Whether it was resumed no older row tells.
DO $$ BEGIN
  IF EXISTS (
    SELECT FROM outcome_event
    WHERE topic LIKE '%.revised.accepted' AND body LIKE '%; all were accepted.%'
      AND body NOT LIKE '%It was resumed before that: %'
  ) THEN
    COMMENT ON TABLE outcome_event IS 'rebuild: an older version told no resumption of groups accepted after all';
  END IF;
END $$;
