-- A recall that names its operation in capital letters was tied to nothing.
DO $$ BEGIN
  IF EXISTS (SELECT FROM movement_document WHERE recalls IS NOT NULL AND recalls <> lower(recalls)) THEN
    COMMENT ON TABLE movement_document IS 'rebuild: an older version compared recalls by their letter case';
    COMMENT ON TABLE pack_state IS 'rebuild: an older version compared recalls by their letter case';
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version compared recalls by their letter case';
  END IF;
END $$;
