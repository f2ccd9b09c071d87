-- Intervals in which containers held child_, as known at log position known_at, from documents accepted by as_of. A moment is a pair
-- (acceptance, log position), so that documents of one second keep their order. valid_to is infinity while it lasts. An interval ends with the child's
-- next change, with the opening of its container, or with an opening of an outer container that opens all within (cascades). nesting limits how far
-- outwards that is followed: wrong documents can nest containers in a ring.
CREATE FUNCTION containment_of(child_ text, known_at bigint, as_of timestamptz, nesting integer DEFAULT 6)
RETURNS TABLE (parent text, valid_from timestamptz, from_position bigint, valid_to timestamptz, to_position bigint, cascades boolean)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  IF nesting < 0 THEN
    RETURN;
  END IF;
  RETURN QUERY
  SELECT c.parent, d.ordered_at, d.known_from,
    coalesce(ended.at, 'infinity'), coalesce(ended.at_position, 9223372036854775807), coalesce(ended.cascades, false)
  FROM containment c
  JOIN movement_document d ON d.known_from = c.known_from
  LEFT JOIN LATERAL (
    SELECT own.at, own.at_position, false AS cascades
    FROM containment_end(c.child, false, d.ordered_at, d.known_from, known_at, as_of) own
    UNION ALL
    SELECT opened.at, opened.at_position, opened.cascades
    FROM containment_end(c.parent, true, d.ordered_at, d.known_from, known_at, as_of) opened
    UNION ALL
    SELECT outwards.valid_to, outwards.to_position, true
    FROM containment_of(c.parent, known_at, as_of, nesting - 1) outwards
    WHERE outwards.cascades AND (outwards.valid_to, outwards.to_position) > (d.ordered_at, d.known_from)
    ORDER BY 1, 2, 3 DESC
    LIMIT 1
  ) ended ON true
  WHERE c.child = child_
    AND d.known_from <= known_at AND (d.known_to IS NULL OR d.known_to > known_at)
    AND d.ordered_at <= as_of;
END
$$;
