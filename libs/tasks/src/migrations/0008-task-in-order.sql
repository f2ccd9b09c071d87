-- Tasks that are due at the same time are served in the order in which they were scheduled.
CREATE INDEX task_in_order ON task (lane, priority, due_at, id);
DROP INDEX task_by_lane;
