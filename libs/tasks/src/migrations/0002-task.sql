-- Tasks that are ready, leased or failed. A lease changes no indexed column, so that claiming and extending are heap-only updates;
-- half of each page is left free for them. A ready task has lease_until = -infinity, a failed one due_at = infinity (which keeps it
-- out of every claim) and failed_at. lease_number grows with each claim and names the lease: who settles must know it.
CREATE TABLE task (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  due_at timestamptz NOT NULL,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  failed_at timestamptz,
  lease_number integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  priority smallint NOT NULL,
  lease_expired_before boolean NOT NULL DEFAULT false,
  key text NOT NULL,
  kind text NOT NULL,
  lane text NOT NULL,
  payload text NOT NULL,
  holder text,
  last_error text
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
