-- Up to which position old outcomes were removed: whoever asks for what lies before is told so, and not given a part for the whole.
CREATE TABLE outcome_removed (
  single        boolean PRIMARY KEY DEFAULT true CHECK (single),
  up_to         bigint NOT NULL
);
