-- False: nobody told the dependent that it waits for this one, which came in place of another that it waits for, or is held for.
ALTER TABLE item_wait ADD COLUMN is_told boolean NOT NULL DEFAULT true;
