-- Which document this one was sent in place of by an operator, and which was sent in place of this one.
ALTER TABLE document_outcome ADD COLUMN resend_of text, ADD COLUMN resent_as text;
