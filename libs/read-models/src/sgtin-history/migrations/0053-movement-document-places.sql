-- Which places are ours, without a row of each document: the documents of each place are skipped.
CREATE INDEX movement_document_subject ON movement_document (subject_id)
  WHERE known_to IS NULL AND outcome IN ('accepted', 'partial')
    AND coalesce(channel NOT IN ('counterparty', 'registry_answer'), true);
CREATE INDEX movement_document_moved_to ON movement_document (doc_type, counterparty_id)
  WHERE known_to IS NULL AND outcome IN ('accepted', 'partial') AND counterparty_id IS NOT NULL
    AND coalesce(channel NOT IN ('counterparty', 'registry_answer'), true);
CREATE INDEX movement_document_told_to ON movement_document (doc_type, counterparty_id)
  WHERE known_to IS NULL AND outcome IN ('accepted', 'partial') AND counterparty_id IS NOT NULL
    AND channel = 'counterparty';
