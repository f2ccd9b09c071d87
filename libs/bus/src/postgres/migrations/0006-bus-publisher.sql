-- The embedded bus: the user of the database who put a message in, as the database knows him; null for one that came before this column did.
-- Whoever may publish and not say in whose name is granted INSERT (message_id, content_type, headers, body) alone.
ALTER TABLE bus_command ADD COLUMN publisher text;
ALTER TABLE bus_command ALTER COLUMN publisher SET DEFAULT session_user;
ALTER TABLE bus_dead_letter ADD COLUMN publisher text;
