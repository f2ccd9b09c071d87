DO $$
BEGIN
  FOR part IN 0..7 LOOP
    EXECUTE format('CREATE TABLE item_movement_%s PARTITION OF item_movement FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part);
  END LOOP;
END
$$;
