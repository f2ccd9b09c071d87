-- What a document waits for, as [{"requestId", "commandId"}]: the ERP knows its command ids and not our request_ids, which alone were kept before.
-- A rebuild finds every command id; until then one that was not registered yet is shown by its request_id.
ALTER TABLE document_outcome RENAME COLUMN waiting_for TO waiting_for_request_ids;
ALTER TABLE document_outcome ADD COLUMN waiting_for jsonb NOT NULL DEFAULT '[]';
UPDATE document_outcome d SET waiting_for = (
  SELECT jsonb_agg(jsonb_build_object('requestId', w.request_id, 'commandId', coalesce(earlier.command_id, w.request_id)) ORDER BY w.n)
  FROM unnest(d.waiting_for_request_ids) WITH ORDINALITY AS w (request_id, n)
  LEFT JOIN document_outcome earlier ON earlier.request_id = w.request_id
) WHERE cardinality(d.waiting_for_request_ids) > 0;
ALTER TABLE document_outcome DROP COLUMN waiting_for_request_ids;
ALTER TABLE document_outcome ALTER COLUMN waiting_for DROP DEFAULT;
