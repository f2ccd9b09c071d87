-- A row tells what is wrong with its bytes and with its receipt; older versions told the newer of the two alone.
DO $$ BEGIN
  IF EXISTS (SELECT FROM inbound_document WHERE problem IS NOT NULL
    OR (document_sha256 IS NOT NULL AND operation_date IS NULL)) THEN
    COMMENT ON TABLE inbound_document IS 'rebuild: an older version told one problem of a document alone';
  END IF;
END $$;
