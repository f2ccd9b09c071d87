-- The two filters that are most often set together, and of which both may be common while the pair is rare.
CREATE INDEX document_outcome_by_account_type ON document_outcome (account, doc_type, registered_at, registered_position);
