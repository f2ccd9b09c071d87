-- One row, kept by the same projection: counting millions of documents for every look at the console would cost a scan each.
CREATE TABLE document_outcome_count (
  single    boolean PRIMARY KEY DEFAULT true CHECK (single),
  documents bigint NOT NULL,
  accepted  bigint NOT NULL,
  partial   bigint NOT NULL,
  rejected  bigint NOT NULL,
  failed    bigint NOT NULL
);
