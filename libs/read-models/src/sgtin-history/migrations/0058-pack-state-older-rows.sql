-- Queries (210, 220) and reservations of numbers (213) counted as documents that had moved what they name.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pack_state s CROSS JOIN LATERAL (VALUES (s.position), (s.first_from)) AS told (position)
      JOIN movement_document d ON d.known_from = told.position
      WHERE d.doc_type IN (210, 213, 220))
    OR EXISTS (SELECT FROM pack_stay y JOIN movement_document d ON d.known_from = y.moved_from
      WHERE d.doc_type IN (210, 213, 220)) THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took queries to move packs';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version took queries to move packs';
  END IF;
END $$;
