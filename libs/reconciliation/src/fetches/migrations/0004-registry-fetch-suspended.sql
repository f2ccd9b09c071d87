-- The newest reading of the suspended packs is looked for every few seconds.
CREATE INDEX registry_fetch_suspended ON registry_fetch (requested_at DESC) WHERE way = 'suspended';
