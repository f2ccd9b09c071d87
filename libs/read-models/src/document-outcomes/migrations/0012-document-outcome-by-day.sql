-- The list is ordered by the moment of registration, then by its log position, and each filter of the list has an index that ends in these two:
-- so a page reads its own rows alone, from any day, however long the table is. The block range index found the days, but not in their order.
CREATE INDEX document_outcome_by_day ON document_outcome (registered_at, registered_position);
DROP INDEX document_outcome_registered;
