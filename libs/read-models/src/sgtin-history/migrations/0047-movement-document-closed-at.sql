-- When it became known that a document counts no longer; for one that a revision closed, the row of that tells.
ALTER TABLE movement_document ADD COLUMN closed_at timestamptz;
