-- Versions before closed_at (0047) did not keep when a document of others turned out to be ours, or concluded again.
DO $$ BEGIN
  IF EXISTS (SELECT FROM movement_document
    WHERE document_id IS NOT NULL AND known_to IS NOT NULL AND closed_at IS NULL) THEN
    COMMENT ON TABLE movement_document IS
      'rebuild: an older version did not tell when a document of others counted no longer';
  END IF;
END $$;
