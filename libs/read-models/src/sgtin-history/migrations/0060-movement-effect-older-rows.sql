-- What a document says of series and expiry was left out where its receipt does not tell what became of an item. Items of
-- which it says different things share no row of movement_effect now, so the numbers of those in item_movement are others.
DO $$ BEGIN
  IF EXISTS (SELECT FROM movement_effect e JOIN movement_document d USING (known_from)
      WHERE e.result = 'undetermined' AND d.outcome = 'partial' AND e.series IS NULL AND e.expiry IS NULL
        AND e.lots IS NULL AND EXISTS (SELECT FROM series_told t WHERE t.position = d.known_from)) THEN
    COMMENT ON TABLE movement_effect IS 'rebuild: an older version left out the series of what a receipt left open';
    COMMENT ON TABLE item_movement IS 'rebuild: an older version left out the series of what a receipt left open';
  END IF;
END $$;
