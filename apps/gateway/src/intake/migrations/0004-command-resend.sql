-- The document that an operator sends again by this command: each is sent again by one command at most.
ALTER TABLE command ADD COLUMN resend_of uuid CONSTRAINT command_resend UNIQUE;
