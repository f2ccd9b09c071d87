-- Documents of types that nobody here knows are counted over the last days; rows are written in the order of this moment.
CREATE INDEX inbound_document_seen ON inbound_document USING brin (seen_at) WITH (pages_per_range = 32);
