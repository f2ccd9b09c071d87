-- A further copy of a document of ours took the place of its id, and a recall by that id was not found. Of one that was
-- recognised as ours nothing is a copy. An own one that has not concluded is known by document_outcome alone.
DO $$
DECLARE
  is_taken boolean;
  changed text;
BEGIN
  -- Once over the table, and without a sort.
  is_taken := EXISTS (SELECT FROM movement_document
    WHERE request_id <> '' AND coalesce(channel NOT IN ('counterparty', 'registry_answer'), true)
      AND (document_id IS NULL OR known_to IS NULL)
    GROUP BY request_id HAVING min(coalesce(document_id, '')) <> max(coalesce(document_id, '')));
  IF NOT is_taken AND to_regclass('document_outcome') IS NOT NULL THEN
    is_taken := EXISTS (SELECT FROM sent_document s JOIN document_outcome o USING (request_id)
      WHERE o.document_id <> s.document_id);
  END IF;
  IF is_taken THEN
    COMMENT ON TABLE sent_document IS 'rebuild: an older version took the id of a copy for that of the document';
    FOREACH changed IN ARRAY ARRAY['pack_state', 'pack_stay'] LOOP
      EXECUTE format('COMMENT ON TABLE %I IS %L', changed,
        'rebuild: an older version did not find the recall of what the registry took twice');
    END LOOP;
  END IF;
END $$;
