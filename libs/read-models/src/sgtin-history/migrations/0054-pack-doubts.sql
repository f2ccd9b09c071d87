-- What of an item is open since doubt_from: bits, status 1, place 2, owner 4, holder 8, containment 16, part_left 32; NULL
-- where nothing is. pack_stay.told: what movements of the container have told of what was in it since, in the same bits;
-- pack_stay.doubts: what they have left open after that.
ALTER TABLE pack_state ADD COLUMN doubts smallint;
ALTER TABLE pack_stay ADD COLUMN doubts smallint, ADD COLUMN told smallint;
