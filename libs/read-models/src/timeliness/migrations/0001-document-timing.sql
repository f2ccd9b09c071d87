-- When each document was claimed, known, sent and accepted: what deadlines are judged by. One row per document, ours and of others. No due moment is
-- kept: it follows from these facts and from the calendar in force, at the moment of the question.
CREATE TABLE document_timing (
  stream          text COLLATE "C" PRIMARY KEY,
  first_position  bigint NOT NULL,
  position        bigint NOT NULL,
  kind            text NOT NULL,
  id              text NOT NULL,
  account         text NOT NULL,
  channel         text NOT NULL,
  doc_type        integer,
  doc_num         text,
  command_id      text,
  reference       text,
  operation_date  text,
  operation_at    timestamptz,
  known_at        timestamptz NOT NULL,
  day_at          timestamptz NOT NULL,
  sent_at         timestamptz,
  accepted_at     timestamptz,
  outcome         text,
  replaced_by     text,
  document_sha256 text
) WITH (fillfactor = 70);
