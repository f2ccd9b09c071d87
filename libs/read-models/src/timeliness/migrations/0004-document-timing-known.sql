-- Types that came lately, and what was told to us lately.
CREATE INDEX document_timing_known ON document_timing (known_at) INCLUDE (kind, doc_type, channel);
