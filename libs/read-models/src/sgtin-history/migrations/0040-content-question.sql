-- Each time that the registry was asked what lies in a container that came to us (position of that event), and what came of it: standing is
-- asked, told or unavailable. reason: why it did not tell, as it last said (position reason_from). Of a container one question is open at most.
CREATE TABLE content_question (
  asked_from  bigint PRIMARY KEY,
  sscc        text COLLATE "C" NOT NULL,
  document_id text NOT NULL,
  account     text NOT NULL,
  asked_at    timestamptz NOT NULL,
  standing    text NOT NULL,
  reason      text,
  reason_from bigint,
  attempts    integer NOT NULL,
  ended_from  bigint
);
