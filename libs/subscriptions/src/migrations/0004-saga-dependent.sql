-- Who waits for an instance of a saga (key), a row each: written with the page in which the dependent registers, gone when it waits no more. The state of an
-- instance stays small, however many wait for it.
CREATE TABLE saga_dependent (
  saga text NOT NULL,
  key text COLLATE "C" NOT NULL,
  dependent text COLLATE "C" NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (saga, key, dependent)
);
CREATE INDEX saga_dependent_by_dependent ON saga_dependent (saga, dependent);
