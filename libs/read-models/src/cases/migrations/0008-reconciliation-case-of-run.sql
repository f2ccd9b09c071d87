-- Cases of a run of packs: for its report, and before its folder goes.
CREATE INDEX reconciliation_case_of_run ON reconciliation_case USING gin (packs_runs);
