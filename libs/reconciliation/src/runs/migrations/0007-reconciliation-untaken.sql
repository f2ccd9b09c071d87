-- Runs that no reconciler has taken yet, which each one looks for twice a minute.
CREATE INDEX reconciliation_untaken ON reconciliation_request (requested_at, run_id)
  WHERE asked IS NOT NULL AND taken_at IS NULL;
