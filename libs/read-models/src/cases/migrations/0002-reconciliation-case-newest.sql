-- The list goes from the newest case backwards.
CREATE INDEX reconciliation_case_newest ON reconciliation_case (opened_position DESC);
