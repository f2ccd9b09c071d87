-- Intervals in which containers held child_, as known at log position known_at, from documents accepted by as_of. A moment is a pair
-- (acceptance, log position), so that documents of one second keep their order. valid_to is infinity while it lasts.
CREATE FUNCTION containment_of(child_ text, known_at bigint, as_of timestamptz)
RETURNS TABLE (parent text, valid_from timestamptz, from_position bigint, valid_to timestamptz, to_position bigint)
LANGUAGE sql STABLE
AS $$
  SELECT c.parent, d.ordered_at, d.known_from, coalesce(ended.at, 'infinity'), coalesce(ended.at_position, 9223372036854775807)
  FROM containment c
  JOIN movement_document d ON d.known_from = c.known_from
  LEFT JOIN LATERAL (
    SELECT at, at_position FROM containment_end(c.child, false, d.ordered_at, d.known_from, known_at, as_of)
    UNION ALL
    SELECT at, at_position FROM containment_end(c.parent, true, d.ordered_at, d.known_from, known_at, as_of)
    ORDER BY at, at_position
    LIMIT 1
  ) ended ON true
  WHERE c.child = child_
    AND d.known_from <= known_at AND (d.known_to IS NULL OR d.known_to > known_at)
    AND d.ordered_at <= as_of
$$;
