-- Those that somebody has to look at: for the figures, and for the runs that may resolve them.
CREATE INDEX reconciliation_case_unresolved ON reconciliation_case (run_kind, case_id) WHERE phase <> 'resolved';
