-- One row per conclusion of a document, named by the log position of the event that told it. Three times are kept: operation_date
-- (claimed), ordered_at (the registry's acceptance; for a document without one, the moment of the failure), known_from/known_to (log positions
-- between which this counted as the truth). A revision closes known_to and adds a row: known_to alone is ever updated, once.
CREATE TABLE movement_document (
  known_from      bigint PRIMARY KEY,
  known_to        bigint,
  request_id      text COLLATE "C" NOT NULL,
  doc_type        integer NOT NULL,
  outcome         text NOT NULL,
  cause           text,
  subject_id      text NOT NULL,
  counterparty_id text,
  operation_date  text NOT NULL,
  operation_at    timestamptz,
  accepted_at     timestamptz,
  ordered_at      timestamptz NOT NULL,
  document_sha256 text NOT NULL,
  receipt_sha256  text
);
