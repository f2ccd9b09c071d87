-- The first change after (after_at, after_position) that takes item_ out of whatever holds it, of those known at known_at and accepted by as_of:
-- packed elsewhere, taken out, or (opened) its own end as a container. only_opened asks for openings alone.
CREATE FUNCTION containment_end(item_ text, only_opened boolean, after_at timestamptz, after_position bigint, known_at bigint, as_of timestamptz)
RETURNS TABLE (at timestamptz, at_position bigint)
LANGUAGE sql STABLE
AS $$
  SELECT d.ordered_at, d.known_from
  FROM item_movement m
  JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = item_
    AND (e.containment = 'opened' OR (NOT only_opened AND e.containment IS NOT NULL))
    AND (d.ordered_at, d.known_from) > (after_at, after_position)
    AND d.known_from <= known_at AND (d.known_to IS NULL OR d.known_to > known_at)
    AND d.ordered_at <= as_of
  ORDER BY d.ordered_at, d.known_from
  LIMIT 1
$$;
