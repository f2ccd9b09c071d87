-- What documents had left open ended with the next status, whatever parts were open: decision 70. Where there was none, no
-- row is other than this version writes it.
DO $$
DECLARE
  changed text;
BEGIN
  IF NOT EXISTS (SELECT FROM pack_state WHERE doubts IS NOT NULL)
    AND NOT EXISTS (SELECT FROM pack_stay WHERE told IS NOT NULL)
    AND EXISTS (SELECT FROM movement_effect e JOIN movement_document d USING (known_from)
      WHERE d.known_to IS NULL
        AND (e.result = 'undetermined' AND d.doc_type NOT IN (210, 211, 213, 220, 221, 253, 254, 617, 623, 10501, 10502)
          OR e.part IS NOT NULL AND d.doc_type IN (253, 254))) THEN
    FOREACH changed IN ARRAY ARRAY['pack_state', 'pack_stay'] LOOP
      EXECUTE format('COMMENT ON TABLE %I IS %L', changed,
        'rebuild: an older version took what was left open to end with the next status');
    END LOOP;
  END IF;
END $$;
-- Until then it ends as it did: all is open, and a status of what holds it tells all.
UPDATE pack_stay y SET told = 63 FROM pack_state s
  WHERE s.doubt_from IS NOT NULL AND s.doubts IS NULL AND y.container = s.container AND y.position = s.position
    AND y.status_from IS NOT NULL;
UPDATE pack_state SET doubts = 63 WHERE doubt_from IS NOT NULL AND doubts IS NULL;
UPDATE pack_stay SET doubts = 63 WHERE doubt_from IS NOT NULL AND doubts IS NULL;
