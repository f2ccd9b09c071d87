-- Many documents mean a place, and few move all that it holds. Those few are found without reading the many.
ALTER TABLE item_claim DROP CONSTRAINT item_claim_pkey, ADD PRIMARY KEY (item, is_exclusive, holder);
-- Those in flight mean their places from now on. An item that is a place has 14 digits.
INSERT INTO item_claim
SELECT DISTINCT p.place, h.number, o.doc_type IN (432, 812), NULL
FROM claim_holder h JOIN document_outcome o ON o.request_id = h.id
  CROSS JOIN LATERAL (VALUES (o.subject_id), (o.counterparty_id)) AS p(place)
WHERE p.place ~ '^\d{14}$';
