-- In place of which documents another one was sent: few rows. Its clock is theirs.
CREATE INDEX document_timing_replaced ON document_timing (replaced_by) WHERE replaced_by IS NOT NULL;
