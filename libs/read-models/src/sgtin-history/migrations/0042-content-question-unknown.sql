-- Containers whose content is not known: few, as most questions are answered.
CREATE INDEX content_question_unknown ON content_question (standing, sscc) WHERE standing <> 'told';
