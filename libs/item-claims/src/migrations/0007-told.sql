-- False: nobody told the dependent that it waits for this one, which came in place of another that it waits for, or is held for.
ALTER TABLE item_wait ADD COLUMN is_told boolean NOT NULL DEFAULT true;
-- Those of before tell by the read models: what came in place of another has its rows, but for who is told so by its own events.
UPDATE item_wait w SET is_told = false FROM (
  SELECT resend_of AS old, request_id AS new FROM document_outcome WHERE resend_of IS NOT NULL AND outcome IS NULL
  UNION ALL SELECT request_id, superseded_by FROM document_outcome WHERE superseded_by IS NOT NULL
  UNION ALL SELECT resumes, group_id FROM document_group WHERE resumes IS NOT NULL AND outcome IS NULL
) r
WHERE w.predecessor = r.new AND EXISTS (SELECT FROM item_wait o WHERE o.predecessor = r.old AND o.dependent = w.dependent)
  AND NOT EXISTS (
    SELECT FROM document_outcome d WHERE d.request_id = w.dependent AND d.waiting_for @> jsonb_build_array(jsonb_build_object('requestId', r.new))
    UNION ALL
    SELECT FROM document_group g WHERE g.group_id = w.dependent AND g.waiting_for @> jsonb_build_array(jsonb_build_object('requestId', r.new))
  );
