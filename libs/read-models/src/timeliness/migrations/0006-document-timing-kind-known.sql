-- Types that came lately, and what was told to us lately, without a look at documents of ours.
CREATE INDEX document_timing_kind_known ON document_timing (kind, known_at) INCLUDE (doc_type, channel);
DROP INDEX document_timing_known;
