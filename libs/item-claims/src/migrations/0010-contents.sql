-- Containers whose content the registry told, as the read models have it: up to now only documents said here what lies where. What documents said
-- since then counts more; what they said before is over, if the read models know all that was read here.
INSERT INTO item_container
SELECT DISTINCT ON (c.child) c.child, c.parent FROM movement_document a JOIN containment c ON c.known_from = a.known_from
WHERE a.channel = 'registry_answer' AND a.known_to IS NULL AND NOT EXISTS (
  SELECT FROM item_movement m JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = c.child AND e.containment IS NOT NULL
    AND d.known_to IS NULL AND (d.ordered_at, d.known_from) > (a.ordered_at, a.known_from)
) AND NOT EXISTS (
  SELECT FROM item_movement m JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = c.parent AND e.containment IN ('opened', 'opened_all')
    AND d.known_to IS NULL AND (d.ordered_at, d.known_from) > (a.ordered_at, a.known_from)
)
ORDER BY c.child, a.ordered_at DESC, a.known_from DESC
ON CONFLICT (child) DO UPDATE SET parent = excluded.parent
WHERE coalesce((SELECT position FROM checkpoint WHERE name = 'projection:sgtin-history'), 0)
  >= coalesce((SELECT position FROM checkpoint WHERE name = 'item-claims'), 0);
