-- The report is read newest first by the day that a document claims, from any day on.
CREATE INDEX document_timing_by_day ON document_timing (day_at, first_position);
