-- What witnesses said of signed checkpoints: their signature lines, as they gave them (C2SP tlog-cosignature). One of
-- each witness for a checkpoint. Never changed and never taken away.
CREATE TABLE audit_cosignature (
  breaks      integer NOT NULL,
  size        bigint NOT NULL,
  witness     text NOT NULL,
  line        text NOT NULL,
  cosigned_at timestamptz NOT NULL,
  PRIMARY KEY (breaks, size, witness)
);
-- How far each witness has come.
CREATE INDEX audit_cosignature_by_witness ON audit_cosignature (breaks, witness, size);
