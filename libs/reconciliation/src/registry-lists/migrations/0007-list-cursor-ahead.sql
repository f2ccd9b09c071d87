-- An entry that was dated ahead could move the cursor ahead of the clock, and what came since lies before it. Such a cursor goes back to the newest
-- document that its list has shown, or to where its first reading began.
UPDATE list_cursor c SET since = coalesce(
  (SELECT max(d.received_at) FROM registry_document d WHERE d.account = c.account AND d.direction = c.list AND d.received_at <= now()),
  c.covered_from, now() - interval '1 day') WHERE c.since > now();
