-- The questions about one container.
CREATE INDEX content_question_container ON content_question (sscc, asked_from);
