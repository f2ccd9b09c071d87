-- Findings of runs, by the attempt that found them, which the run's last event names: what an attempt left that died before its event is never shown.
CREATE TABLE reconciliation_finding (
  run_id          text COLLATE "C" NOT NULL,
  attempt         text COLLATE "C" NOT NULL,
  n               integer NOT NULL,
  kind            text NOT NULL,
  -- The whole finding: canonical JSON.
  finding         text NOT NULL,
  PRIMARY KEY (run_id, attempt, n)
);
