-- A move of a whole place moved also what was only on its way there, and what was sold, used or withdrawn there.
DO $$ BEGIN
  IF EXISTS (SELECT FROM place_move) THEN
    COMMENT ON TABLE pack_state IS 'rebuild: an older version moved with a whole place also what did not lie there';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version moved with a whole place also what did not lie there';
  END IF;
END $$;
