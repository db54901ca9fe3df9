-- The ledger. Tables are STRICT. A column of type ANY holds a "text value" (TEXT, or BLOB with a
-- codec byte) and a BLOB column holds a framed blob; docs/formats.md describes both, and says what
-- NULL stands for in the columns of steps. Times are UTC milliseconds.

CREATE TABLE writer (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  pid      INTEGER NOT NULL,
  host     TEXT    NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE panels (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (hash, name)
) STRICT;

CREATE TABLE tasks (
  id       INTEGER PRIMARY KEY,
  panel_id INTEGER NOT NULL REFERENCES panels (id),
  idx      INTEGER NOT NULL CHECK (idx >= 0),
  env      TEXT    NOT NULL,
  task     TEXT    NOT NULL,
  split    TEXT    NOT NULL,
  type     TEXT    NOT NULL,
  seed     INTEGER NOT NULL,
  hash     TEXT    NOT NULL,
  UNIQUE (panel_id, idx)
) STRICT;

CREATE TABLE runs (
  id           INTEGER PRIMARY KEY,
  name         TEXT    NOT NULL UNIQUE,
  state        TEXT    NOT NULL CHECK (state IN ('created', 'running', 'interrupted', 'done')),
  created_ms   INTEGER NOT NULL,
  panel_id     INTEGER NOT NULL REFERENCES panels (id),
  group_size   INTEGER NOT NULL CHECK (group_size > 0),
  seed         INTEGER NOT NULL,
  policy       TEXT    NOT NULL,
  code_version TEXT    NOT NULL,
  config       TEXT    NOT NULL,
  info         TEXT    NOT NULL
) STRICT;

CREATE TABLE groups (
  id      INTEGER PRIMARY KEY,
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  idx     INTEGER NOT NULL CHECK (idx >= 0),
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  UNIQUE (run_id, idx)
) STRICT;

CREATE TABLE episodes (
  id              INTEGER PRIMARY KEY,
  run_id          INTEGER NOT NULL REFERENCES runs (id),
  group_id        INTEGER NOT NULL REFERENCES groups (id),
  sample          INTEGER NOT NULL CHECK (sample >= 0),
  status          TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'failed')),
  attempt_id      INTEGER REFERENCES attempts (id), -- the attempt that closed the episode
  stop            TEXT,
  won             INTEGER CHECK (won IN (0, 1)),
  reward          REAL,
  score           REAL,
  steps           INTEGER CHECK (steps >= 0),
  invalid         INTEGER CHECK (invalid >= 0),
  failure_kind    TEXT,
  failure_op      ANY,
  failure_message ANY,
  UNIQUE (group_id, sample),
  CHECK ((status IN ('done', 'failed')) = (attempt_id IS NOT NULL)),
  CHECK ((status = 'done') = (stop IS NOT NULL)),
  CHECK ((status = 'done') = (won IS NOT NULL)),
  CHECK ((status = 'done') = (reward IS NOT NULL)),
  CHECK ((status = 'done') = (score IS NOT NULL)),
  CHECK ((status = 'done') = (steps IS NOT NULL)),
  CHECK ((status = 'done') = (invalid IS NOT NULL)),
  CHECK ((status = 'failed') = (failure_kind IS NOT NULL))
) STRICT;
CREATE INDEX episodes_run ON episodes (run_id);

CREATE TABLE attempts (
  id              INTEGER PRIMARY KEY,
  episode_id      INTEGER NOT NULL REFERENCES episodes (id),
  number          INTEGER NOT NULL CHECK (number >= 1),
  state           TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed')),
  started_ms      INTEGER NOT NULL,
  finished_ms     INTEGER,
  failure_kind    TEXT,
  failure_op      ANY,
  failure_message ANY,
  UNIQUE (episode_id, number),
  CHECK ((state = 'running') = (finished_ms IS NULL)),
  CHECK ((state = 'failed') = (failure_kind IS NOT NULL))
) STRICT;

CREATE TABLE steps (
  id              INTEGER PRIMARY KEY,
  attempt_id      INTEGER NOT NULL REFERENCES attempts (id),
  idx             INTEGER NOT NULL CHECK (idx >= 0),
  action          ANY     NOT NULL,
  valid           INTEGER NOT NULL CHECK (valid IN (0, 1)),
  reward          REAL    NOT NULL,
  score           REAL    NOT NULL,
  won             INTEGER NOT NULL CHECK (won IN (0, 1)),
  done            INTEGER NOT NULL CHECK (done IN (0, 1)),
  spans           TEXT,             -- NULL: none given
  response        ANY     NOT NULL,
  next_text       ANY     NOT NULL,
  feedback        ANY,              -- NULL: equals next_text
  privileged      ANY     NOT NULL,
  next_anchor     ANY     NOT NULL,
  next_task       ANY,              -- NULL: equals next_task of the step before
  anchor          ANY,              -- NULL: equals what the step before left as anchor text
  admissible      BLOB,             -- NULL: equals next_admissible of the step before
  next_admissible BLOB,             -- NULL: equals admissible of this step
  prompt          BLOB,             -- NULL: equals next_prompt of the step before
  next_prompt     BLOB,             -- NULL: equals prompt of this step
  policy_ns       INTEGER NOT NULL,
  env_ns          INTEGER NOT NULL,
  UNIQUE (attempt_id, idx)
) STRICT;

CREATE TABLE token_meta (
  id          INTEGER PRIMARY KEY,
  engine      ANY     NOT NULL,
  version     ANY     NOT NULL,
  model       ANY     NOT NULL,
  mode        ANY     NOT NULL,
  temperature REAL    NOT NULL,
  top_p       REAL    NOT NULL,
  top_k       INTEGER NOT NULL,
  min_p       REAL    NOT NULL,
  finish      ANY     NOT NULL,
  drift       ANY     NOT NULL
) STRICT;

-- One row per step whose policy gave tokens. A NULL column was not given.
CREATE TABLE tokens (
  step_id      INTEGER PRIMARY KEY REFERENCES steps (id),
  n            INTEGER NOT NULL CHECK (n >= 0),
  n_prompt     INTEGER NOT NULL CHECK (n_prompt >= 0),
  top_k        INTEGER NOT NULL,
  meta_id      INTEGER REFERENCES token_meta (id),
  ids          BLOB,
  logprobs     BLOB,
  entropies    BLOB,
  entropy_low  BLOB,
  entropy_high BLOB,
  versions     BLOB,
  prompt_ids   BLOB
) STRICT;

-- Texts about a step that came after the step itself: a judge's verdict, a peer's solution.
CREATE TABLE feedback (
  id         INTEGER PRIMARY KEY,
  step_id    INTEGER NOT NULL REFERENCES steps (id),
  source     TEXT    NOT NULL,
  text       ANY     NOT NULL,
  created_ms INTEGER NOT NULL,
  UNIQUE (step_id, source)
) STRICT;

CREATE TABLE events (
  id         INTEGER PRIMARY KEY,
  run_id     INTEGER NOT NULL REFERENCES runs (id),
  episode_id INTEGER REFERENCES episodes (id),
  at_ms      INTEGER NOT NULL,
  kind       TEXT    NOT NULL,
  message    ANY     NOT NULL
) STRICT;
CREATE INDEX events_run ON events (run_id);
