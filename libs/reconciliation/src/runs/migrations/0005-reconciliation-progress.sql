-- How far a run is that is being made, or what its last attempt met: words for people.
ALTER TABLE reconciliation_request ADD COLUMN progress text;
