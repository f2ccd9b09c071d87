-- Packs whose series was told of their container first and of themselves later, and moves that were recalled after the
-- receiving place had been told of them.
DO $$
BEGIN
  IF EXISTS (
    SELECT FROM pack_state s WHERE s.series_from IS NOT NULL
      AND NOT EXISTS (SELECT FROM item_movement m WHERE m.item = s.item AND m.known_from = s.series_from)
      AND EXISTS (SELECT FROM item_movement m JOIN series_told t ON t.position = m.known_from
        WHERE m.item = s.item AND m.known_from > s.series_from AND t.item = '' AND t.series = s.series)) THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version named the document that told a series of the container';
  END IF;
  IF EXISTS (
    SELECT FROM movement_document r JOIN movement_document n ON n.doc_type IN (629, 630) AND n.request_id <> ''
      AND (n.request_id = r.recalls OR EXISTS (SELECT FROM sent_document s
        WHERE s.request_id = n.request_id AND s.document_id = r.recalls))
    WHERE r.recalls <> '') THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took back a move, and not what its receiver was told';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version took back a move, and not what its receiver was told';
  END IF;
END $$;
