-- The order in which a lane is served.
CREATE INDEX task_by_lane ON task (lane, priority, due_at);
