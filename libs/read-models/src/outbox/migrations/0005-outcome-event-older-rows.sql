-- A member of a group that was revised has no cause any more, and a group that was accepted after all says so.
DO $$ BEGIN
  IF EXISTS (
    SELECT FROM outcome_event
    WHERE (topic LIKE 'group.%' AND body ~ '"outcome":"(accepted|partial|rejected)","cause":')
      OR (topic LIKE '%.revised.accepted' AND body LIKE '%; the documents after it were not processed.%')
  ) THEN
    COMMENT ON TABLE outcome_event IS 'rebuild: an older version told of revised members why they had failed';
  END IF;
END $$;
