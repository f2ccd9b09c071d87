-- What holds a unit: request_ids of what ended badly before it, and kinds of its own holds. While there is any, nobody meets the unit in its places. What
-- was held when this came is told by the read models.
ALTER TABLE claim_holder ADD COLUMN holds text[] NOT NULL DEFAULT '{}',
  ADD COLUMN is_held boolean NOT NULL GENERATED ALWAYS AS (holds <> '{}') STORED;
UPDATE claim_holder h SET holds = ARRAY(
  SELECT DISTINCT coalesce(one->>'kind', one->>'requestId') FROM jsonb_array_elements(r.held_for) AS one
) FROM (
  SELECT request_id AS id, held_for FROM document_outcome WHERE outcome IS NULL AND held_for <> '[]'
  UNION ALL SELECT group_id, held_for FROM document_group WHERE phase = 'held'
) r WHERE h.id = r.id AND h.phase <> 'clear';
