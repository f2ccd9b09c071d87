-- Cases of which runs of packs have to read the last items.
CREATE INDEX reconciliation_case_by_packs ON reconciliation_case (case_id)
  WHERE phase <> 'resolved' AND packs_seen_at IS NOT NULL;
