-- After a restoration, what lists showed for the first time since then is counted; rows are written in the order of this moment.
CREATE INDEX registry_document_seen ON registry_document USING brin (seen_at) WITH (pages_per_range = 32);
