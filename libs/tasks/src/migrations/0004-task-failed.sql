-- Failed tasks, for operators: by key, and the newest first.
CREATE INDEX task_failed ON task (key, failed_at) WHERE failed_at IS NOT NULL;
