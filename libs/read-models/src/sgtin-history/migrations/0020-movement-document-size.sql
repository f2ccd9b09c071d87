-- How many rows of item_movement a document has, and when its event was recorded: where a segment ends follows from these two alone.
ALTER TABLE movement_document ADD COLUMN items integer NOT NULL DEFAULT 0;
UPDATE movement_document d SET items = m.items
FROM (SELECT known_from, count(*)::int AS items FROM item_movement GROUP BY known_from) m WHERE m.known_from = d.known_from;
-- The log may lie on a server of its own, or its table may not be there yet: then the moment stays unknown until a rebuild.
DO $$
BEGIN
  IF to_regclass('event') IS NOT NULL THEN
    UPDATE movement_document d SET recorded_at = e.recorded_at FROM event e WHERE e.position = d.known_from;
  END IF;
END
$$;
