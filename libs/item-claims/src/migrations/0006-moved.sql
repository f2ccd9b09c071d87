-- A unit that was held and went behind others when it was released: behind some that registered after it.
ALTER TABLE claim_holder ADD COLUMN is_moved boolean NOT NULL DEFAULT false;
UPDATE claim_holder h SET is_moved = true FROM (
  SELECT number, rank, min(rank) OVER (ORDER BY number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS first_behind
  FROM claim_holder
) o WHERE o.number = h.number AND o.first_behind < o.rank;
