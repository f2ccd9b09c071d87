-- What a document says of its items beside what it does to them: whose they are, who answers for them, how much of a pack is meant, series,
-- expiry, the money that paid. lots: of a container, JSON, a list of GTIN and series. Rows of before have none of it until a rebuild.
ALTER TABLE movement_effect ADD COLUMN owner text, ADD COLUMN holder text, ADD COLUMN part text, ADD COLUMN series text,
  ADD COLUMN expiry text, ADD COLUMN funding text, ADD COLUMN lots text;
