-- What a container holds directly, as known at known_at and as of as_of: the packed items whose interval has not ended.
CREATE FUNCTION content_of(parent_ text, known_at bigint, as_of timestamptz)
RETURNS TABLE (child text, valid_from timestamptz, from_position bigint)
LANGUAGE sql STABLE ROWS 100
AS $$
  SELECT held.child, i.valid_from, i.from_position
  FROM (SELECT DISTINCT c.child FROM containment c WHERE c.parent = parent_) held
  CROSS JOIN LATERAL containment_of(held.child, known_at, as_of) i
  WHERE i.parent = parent_ AND i.valid_to = 'infinity'
$$;
