-- What is wrong with the bytes and what is wrong with the receipt stood in one text, the receipt last.
ALTER TABLE inbound_document ADD COLUMN receipt_problem text;
WITH told AS (
  SELECT document_id, substring(problem FROM '(?:^|\. )(There is no receipt to be had: .*)$') AS receipt
  FROM inbound_document WHERE problem LIKE '%There is no receipt to be had: %'
)
UPDATE inbound_document d SET receipt_problem = receipt,
  problem = nullif(regexp_replace(left(problem, -length(receipt)), '\. $', ''), '')
FROM told WHERE d.document_id = told.document_id AND receipt IS NOT NULL;
