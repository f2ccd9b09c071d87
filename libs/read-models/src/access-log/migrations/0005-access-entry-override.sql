-- What persons decided, the newest first: few rows among very many.
CREATE INDEX access_entry_override ON access_entry (position DESC) WHERE kind = 'override';
