-- The first change after (after_at, after_position) that ends a stay, of those known at known_at and accepted by as_of: of the item itself (packed
-- elsewhere, taken out, or opened and so no unit any more), or, with only_opened, the opening of the container. cascades: what nests in it is opened too.
CREATE FUNCTION containment_end(item_ text, only_opened boolean, after_at timestamptz, after_position bigint, known_at bigint, as_of timestamptz)
RETURNS TABLE (at timestamptz, at_position bigint, cascades boolean)
LANGUAGE sql STABLE ROWS 1
AS $$
  SELECT d.ordered_at, d.known_from, e.containment = 'opened_all'
  FROM item_movement m
  JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  JOIN movement_document d ON d.known_from = m.known_from
  WHERE m.item = item_
    AND (e.containment IN ('opened', 'opened_all') OR (NOT only_opened AND e.containment IS NOT NULL))
    AND (d.ordered_at, d.known_from) > (after_at, after_position)
    AND d.known_from <= known_at AND (d.known_to IS NULL OR d.known_to > known_at)
    AND d.ordered_at <= as_of
  ORDER BY d.ordered_at, d.known_from
  LIMIT 1
$$;
