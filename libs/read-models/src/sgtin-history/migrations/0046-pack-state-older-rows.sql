-- Packs that were sold in parts, that a correction (253) told of, maybe by their container, or that are suspended.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pack_state WHERE suspended AND suspended_from IS NULL)
    OR EXISTS (SELECT FROM pack_state WHERE status LIKE 'in\_partial\_%')
    OR EXISTS (SELECT FROM movement_document WHERE doc_type = 253) THEN
    COMMENT ON TABLE pack_state IS
      'rebuild: an older version took sales in parts, corrections by container and suspensions otherwise';
  END IF;
  IF EXISTS (SELECT FROM pack_stay
    WHERE status IN ('paused_circulation', 'confirm_return_paused') AND suspended_from IS NULL) THEN
    COMMENT ON TABLE pack_stay IS 'rebuild: an older version did not tell since when what is in a container is suspended';
  END IF;
END $$;
