-- An existing database: what is packed by now, and where the subscription begins, at its oldest open document. Newer packings are read from the log.
INSERT INTO item_container
SELECT l.child, l.parent FROM (
  SELECT DISTINCT ON (c.child) c.child, c.parent, d.ordered_at, d.known_from
  FROM containment c JOIN movement_document d ON d.known_from = c.known_from
  WHERE d.known_to IS NULL ORDER BY c.child, d.ordered_at DESC, d.known_from DESC
) l
WHERE NOT EXISTS (
  SELECT FROM item_movement m JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE d.known_to IS NULL AND (d.ordered_at, d.known_from) > (l.ordered_at, l.known_from)
    AND ((m.item = l.child AND e.containment IS NOT NULL) OR (m.item = l.parent AND e.containment IN ('opened', 'opened_all')))
);
INSERT INTO item_claim_start SELECT coalesce((SELECT position FROM checkpoint WHERE name = 'saga:document'), 0);
INSERT INTO checkpoint (name, position, updated_at)
SELECT 'item-claims', greatest(0, least(
  start.position,
  coalesce((SELECT position FROM checkpoint WHERE name = 'projection:sgtin-history'), 0),
  coalesce((SELECT position FROM checkpoint WHERE name = 'projection:document-outcomes'), 0),
  (SELECT min(registered_position) - 1 FROM document_outcome WHERE outcome IS NULL)
)), clock_timestamp() FROM item_claim_start start WHERE start.position > 0;
