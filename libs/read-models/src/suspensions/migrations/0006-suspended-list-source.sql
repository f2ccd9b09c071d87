-- Which of the registry's lists: of suspended packs (list), or of decisions; and how many decisions that names.
ALTER TABLE suspended_list
  ADD COLUMN source text COLLATE "C" NOT NULL DEFAULT 'list',
  ADD COLUMN decisions integer;
