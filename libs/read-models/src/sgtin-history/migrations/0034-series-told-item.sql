CREATE INDEX series_told_item ON series_told (item) WHERE item <> '';
