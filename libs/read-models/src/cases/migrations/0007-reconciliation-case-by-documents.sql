-- Cases that runs of documents may end.
CREATE INDEX reconciliation_case_by_documents ON reconciliation_case (case_id)
  WHERE phase <> 'resolved' AND documents_seen_at IS NOT NULL;
