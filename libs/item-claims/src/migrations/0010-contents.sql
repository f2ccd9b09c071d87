-- Containers whose content the registry told, as the read models have it: up to now only documents said here what lies where.
INSERT INTO item_container
SELECT DISTINCT ON (c.child) c.child, c.parent FROM movement_document a JOIN containment c ON c.known_from = a.known_from
WHERE a.channel = 'registry_answer' AND a.known_to IS NULL AND NOT EXISTS (
  SELECT FROM item_movement m JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE d.known_to IS NULL AND (d.ordered_at, d.known_from) > (a.ordered_at, a.known_from)
    AND ((m.item = c.child AND e.containment IS NOT NULL) OR (m.item = c.parent AND e.containment IN ('opened', 'opened_all')))
)
ORDER BY c.child, a.ordered_at DESC, a.known_from DESC
ON CONFLICT DO NOTHING;
