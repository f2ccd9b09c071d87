-- Which document told first that an item is suspended, as it has been since; paused_from: of what was suspended before it
-- went in, where it stopped to be and began anew. Rows of before have none until a rebuild.
ALTER TABLE pack_state ADD COLUMN suspended_from bigint;
ALTER TABLE pack_stay ADD COLUMN suspended_from bigint, ADD COLUMN paused_from bigint;
