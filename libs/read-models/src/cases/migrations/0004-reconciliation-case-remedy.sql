-- The few whose document is under way.
CREATE INDEX reconciliation_case_remedy ON reconciliation_case (remedy_request_id) WHERE remedy_request_id IS NOT NULL;
