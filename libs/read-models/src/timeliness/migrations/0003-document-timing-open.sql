-- What has no outcome yet: few rows, counted every minute against the calendar.
CREATE INDEX document_timing_open ON document_timing (doc_type, operation_at) WHERE kind = 'own' AND outcome IS NULL;
