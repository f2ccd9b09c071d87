-- Documents in our name that went past this system, so that a recall finds by either id what the other side was told of
-- them.
INSERT INTO sent_document (request_id, document_id)
SELECT DISTINCT ON (request_id) request_id, document_id FROM movement_document
WHERE channel NOT IN ('counterparty', 'registry_answer') AND request_id <> '' AND document_id IS NOT NULL
ORDER BY request_id, known_from DESC
ON CONFLICT DO NOTHING;
DO $$
BEGIN
  IF EXISTS (
    SELECT FROM movement_document r JOIN movement_document o ON o.document_id = r.recalls
      AND o.channel NOT IN ('counterparty', 'registry_answer')
    JOIN movement_document n ON n.request_id = o.request_id AND n.channel = 'counterparty' AND n.request_id <> ''
    WHERE r.recalls <> '') THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took back a move, and not what its receiver was told';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version took back a move, and not what its receiver was told';
  END IF;
END $$;
