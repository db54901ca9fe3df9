-- Credit passes: what an estimator and its token stages made of a run's closed episodes. A pass is
-- written whole or not at all, and never changed.

CREATE TABLE credit_passes (
  id           INTEGER PRIMARY KEY,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  key          TEXT    NOT NULL UNIQUE, -- content hash of inputs and configuration
  scores       TEXT    NOT NULL,        -- key of the scoring pass that was read; '' = none
  created_ms   INTEGER NOT NULL,
  code_version TEXT    NOT NULL,
  config       TEXT    NOT NULL,        -- JSON
  report       TEXT    NOT NULL,        -- JSON
  n            INTEGER NOT NULL CHECK (n >= 0) -- rows in credits
) STRICT;
CREATE INDEX credit_passes_run ON credit_passes (run_id);

CREATE TABLE credits (
  id         INTEGER PRIMARY KEY,
  pass_id    INTEGER NOT NULL REFERENCES credit_passes (id),
  step_id    INTEGER NOT NULL REFERENCES steps (id),
  base       REAL    NOT NULL, -- base advantage of the row
  factor     REAL    NOT NULL, -- of the response; 1 where none ran
  tokens     BLOB,             -- float32 column; NULL: the policy gave no tokens
  weighted   INTEGER NOT NULL CHECK (weighted >= 0), -- tokens that carry a weight
  clipped    INTEGER NOT NULL CHECK (clipped BETWEEN 0 AND weighted),
  weight_sum REAL    NOT NULL, -- of the clipped weights of those; 0 where there are none
  weight_min REAL    NOT NULL,
  weight_max REAL    NOT NULL,
  UNIQUE (pass_id, step_id)
) STRICT;
