-- Days of registration: rows lie in about this order, so a block range index is enough and costs next to nothing.
CREATE INDEX document_outcome_registered ON document_outcome USING brin (registered_at);
