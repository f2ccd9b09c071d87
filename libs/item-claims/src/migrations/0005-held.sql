-- A unit that is held: nobody meets it in its places until it is released. What was held when this came is told by the read models.
ALTER TABLE claim_holder ADD COLUMN is_held boolean NOT NULL DEFAULT false;
UPDATE claim_holder h SET is_held = true
WHERE h.phase = 'at_gate'
  OR (h.phase <> 'clear' AND EXISTS (
    SELECT FROM document_outcome o WHERE o.request_id = h.id AND o.outcome IS NULL AND o.held_for <> '[]'
  ))
  OR (h.phase <> 'clear' AND EXISTS (SELECT FROM document_group g WHERE g.group_id = h.id AND g.phase = 'held'));
