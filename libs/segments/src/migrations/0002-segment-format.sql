-- Which files a segment has and what they hold. One of another format than the program's is written again, with the same rows.
ALTER TABLE segment ADD COLUMN format integer NOT NULL DEFAULT 1;
