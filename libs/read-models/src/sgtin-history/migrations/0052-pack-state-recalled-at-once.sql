-- Operations that were recalled within their second: an older version took the recall to come first.
DO $$
BEGIN
  IF EXISTS (
    SELECT FROM movement_document r
      JOIN movement_document d ON (d.request_id = r.recalls OR d.document_id = r.recalls
          OR EXISTS (SELECT FROM sent_document s WHERE s.request_id = d.request_id AND s.document_id = r.recalls))
        AND date_trunc('second', d.ordered_at) = date_trunc('second', r.ordered_at)
        AND (d.ordered_at, d.known_from) > (r.ordered_at, r.known_from)
    WHERE r.recalls <> '') THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took a recall to come before what it recalls';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version took a recall to come before what it recalls';
  END IF;
END $$;
