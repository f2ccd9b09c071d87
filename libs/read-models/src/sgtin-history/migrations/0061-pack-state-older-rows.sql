-- A pack that was refused beside its container was taken not to go with that. The same for a container within another.
DO $$
DECLARE
  partly bigint[];
BEGIN
  -- First the documents. Where they are few, their items by the one index that has them by document, else in one pass;
  -- and from those on by keys.
  SELECT array_agg(d.known_from) INTO partly FROM movement_document d
    WHERE d.outcome = 'partial' AND EXISTS (SELECT FROM containment)
      AND EXISTS (SELECT FROM movement_effect e WHERE e.known_from = d.known_from AND e.result = 'refused')
      AND EXISTS (SELECT FROM movement_effect e WHERE e.known_from = d.known_from AND e.result <> 'refused');
  IF EXISTS (
    WITH RECURSIVE around AS (
      SELECT m.known_from, m.item FROM unnest(partly) AS one (known_from)
          JOIN item_movement m USING (known_from) JOIN movement_effect e USING (known_from, effect)
        WHERE e.result = 'refused'
      UNION
      SELECT a.known_from, c.parent FROM around a
        CROSS JOIN LATERAL (SELECT parent FROM containment one WHERE one.child = a.item OFFSET 0) c
    )
    SELECT FROM around a
      CROSS JOIN LATERAL (SELECT effect FROM item_movement one
        WHERE one.item = a.item AND one.known_from = a.known_from OFFSET 0) m
      CROSS JOIN LATERAL (SELECT result FROM movement_effect one
        WHERE one.known_from = a.known_from AND one.effect = m.effect OFFSET 0) e
    WHERE e.result <> 'refused') THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version left packs behind that were refused beside their container';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version left packs behind that were refused beside their container';
  END IF;
END $$;
