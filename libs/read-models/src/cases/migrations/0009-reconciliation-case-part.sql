-- The few that persons took out of others: each run of packs reads them.
CREATE INDEX reconciliation_case_part ON reconciliation_case (case_id) WHERE cause_kind = 'part';
