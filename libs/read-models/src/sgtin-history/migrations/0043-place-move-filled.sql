-- Histories look for moves of whole places (432, 812, 631) here. Movements that are older than this table are added.
INSERT INTO place_move (position, place)
SELECT DISTINCT m.known_from, m.item
FROM movement_document d JOIN item_movement m ON m.known_from = d.known_from
WHERE d.doc_type IN (432, 812, 631) AND length(m.item) = 14
ON CONFLICT DO NOTHING;
