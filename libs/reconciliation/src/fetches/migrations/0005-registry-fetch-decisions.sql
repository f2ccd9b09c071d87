-- The newest reading of the decisions is looked for every few seconds.
CREATE INDEX registry_fetch_decisions ON registry_fetch (requested_at DESC) WHERE way = 'decisions';
