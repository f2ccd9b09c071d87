-- A seal of rows that a rebuild had replaced could be the last one of a segment. Each segment is held against the last event of its stream once
-- more: where that has its root nothing is appended.
UPDATE segment SET sealed_position = NULL;
