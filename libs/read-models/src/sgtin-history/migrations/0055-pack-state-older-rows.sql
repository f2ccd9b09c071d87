-- What documents had left open ended with the next status, whatever parts were open: decision 70. How much is left of a
-- pack was not open after a correction of its part. Where there was neither, no pack is other than this version has it.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pack_state WHERE doubts IS NOT NULL)
    AND EXISTS (SELECT FROM movement_effect e JOIN movement_document d USING (known_from)
      WHERE d.known_to IS NULL
        AND (e.result = 'undetermined' AND d.doc_type NOT IN (210, 211, 213, 220, 221, 253, 254, 617, 623, 10501, 10502)
          OR e.part IS NOT NULL AND d.doc_type IN (10501, 10502))) THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took what was left open to end with the next status';
  END IF;
END $$;
-- What was told of what is inside stands in each stay that anything has moved.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pack_stay WHERE told IS NOT NULL)
    AND EXISTS (SELECT FROM pack_stay WHERE moved_from IS NOT NULL) THEN
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version did not keep what was told of what is in a container';
  END IF;
END $$;
-- Until then it ends as it did: all is open, and a status of what holds it tells all.
UPDATE pack_stay y SET told = 63 FROM pack_state s
  WHERE s.doubt_from IS NOT NULL AND s.doubts IS NULL AND y.container = s.container AND y.position = s.position
    AND y.status_from IS NOT NULL;
UPDATE pack_state SET doubts = 63 WHERE doubt_from IS NOT NULL AND doubts IS NULL;
UPDATE pack_stay SET doubts = 63 WHERE doubt_from IS NOT NULL AND doubts IS NULL;
