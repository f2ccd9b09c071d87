-- What is in a container: the other way round.
CREATE INDEX containment_parent ON containment (parent, known_from);
