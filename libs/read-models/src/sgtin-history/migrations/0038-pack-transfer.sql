-- A transfer under way: its order (direct, reverse), from and to, with spaces between. Who ends it tells where the goods then are. Of what is
-- in a container, the transfer that its movements since began. Rows of before have none until a rebuild.
ALTER TABLE pack_state ADD COLUMN transfer text COLLATE "C";
ALTER TABLE pack_stay ADD COLUMN transfer text COLLATE "C";
