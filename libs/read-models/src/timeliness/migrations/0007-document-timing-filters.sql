-- The report on one type or one account, rare ones too.
CREATE INDEX document_timing_type ON document_timing (doc_type, day_at, first_position);
CREATE INDEX document_timing_account ON document_timing (account, day_at, first_position);
