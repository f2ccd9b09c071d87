-- What was ever said of one series of a product.
CREATE INDEX suspension_match ON suspension USING gin (matched jsonb_path_ops);
