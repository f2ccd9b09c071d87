-- What a command comes after, as the command ids that it named: two that wait for each other would wait for ever, and are refused at intake.
ALTER TABLE command ADD COLUMN after_commands jsonb NOT NULL DEFAULT '[]';
