-- Operations that were recalled within their second: an older version took the recall to come first. And documents that
-- change nothing of a pack, such as a correction of details (253): they left nothing open either.
-- Does the same as the form with SHA-256 0bb0ee4242096219e7819aa9489386da4c5cdbf2da4783ee71e09d74f8760794.
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
  -- From what is open to its document: once over each table.
  IF EXISTS (
    SELECT FROM (SELECT doubt_from FROM pack_state WHERE doubt_from IS NOT NULL
        UNION ALL SELECT doubt_from FROM pack_stay WHERE doubt_from IS NOT NULL) AS open
      JOIN movement_document d ON d.known_from = open.doubt_from
    WHERE d.doc_type IN (210, 211, 213, 220, 221, 253, 254, 617, 623, 10501, 10502)) THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version took corrections of details to leave states open';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version took corrections of details to leave states open';
  END IF;
END $$;
