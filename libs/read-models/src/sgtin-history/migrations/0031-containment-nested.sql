-- Containers within a container, without the packs.
CREATE INDEX containment_nested ON containment (parent, child) WHERE length(child) = 18;
