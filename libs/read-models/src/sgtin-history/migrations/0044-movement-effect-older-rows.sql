-- A move between own places (431, 432, 812, and what is told of them) says nothing of a pack's status: decision 70.
DO $$
DECLARE
  changed text;
BEGIN
  IF EXISTS (SELECT FROM movement_document d JOIN movement_effect e ON e.known_from = d.known_from
    WHERE d.doc_type IN (431, 432, 629, 631, 812) AND e.status IS NOT NULL) THEN
    FOREACH changed IN ARRAY ARRAY['movement_effect', 'pack_state', 'pack_stay'] LOOP
      EXECUTE format('COMMENT ON TABLE %I IS %L', changed,
        'rebuild: an older version took what is moved between own places for in circulation');
    END LOOP;
  END IF;
END $$;
