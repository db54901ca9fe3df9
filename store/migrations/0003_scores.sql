-- Teacher passes: how likely each response token is with a hindsight context and without.

CREATE TABLE score_passes (
  id             INTEGER PRIMARY KEY,
  run_id         INTEGER NOT NULL REFERENCES runs (id),
  key            TEXT    NOT NULL,  -- content hash of teacher, mode, templates and options
  mode           TEXT    NOT NULL,
  teacher        TEXT    NOT NULL,
  policy_version INTEGER NOT NULL,  -- -1: not said
  state          TEXT    NOT NULL CHECK (state IN ('running', 'done')),
  created_ms     INTEGER NOT NULL,
  updated_ms     INTEGER NOT NULL,
  config         TEXT    NOT NULL,  -- JSON
  report         TEXT    NOT NULL,  -- JSON
  UNIQUE (run_id, key)
) STRICT;

-- A group is written whole. It is scored anew when its fingerprint has changed.
CREATE TABLE score_groups (
  pass_id     INTEGER NOT NULL REFERENCES score_passes (id),
  group_id    INTEGER NOT NULL REFERENCES groups (id),
  fingerprint TEXT    NOT NULL,
  PRIMARY KEY (pass_id, group_id)
) STRICT, WITHOUT ROWID;

-- Log-probabilities by what they depend on: passes share them, and a repeated question costs nothing.
CREATE TABLE logprobs (
  id    INTEGER PRIMARY KEY,
  key   BLOB    NOT NULL UNIQUE CHECK (length(key) = 16),
  n     INTEGER NOT NULL CHECK (n >= 0),
  value BLOB    NOT NULL -- float32 column, nats
) STRICT;

CREATE TABLE scores (
  id            INTEGER PRIMARY KEY,
  pass_id       INTEGER NOT NULL REFERENCES score_passes (id),
  group_id      INTEGER NOT NULL REFERENCES groups (id),
  step_id       INTEGER NOT NULL REFERENCES steps (id),
  status        TEXT    NOT NULL,
  n             INTEGER NOT NULL CHECK (n >= 0),             -- response tokens; 0 unless scored
  marked        INTEGER NOT NULL CHECK (marked BETWEEN 0 AND n), -- of those, tokens of the action
  student_id    INTEGER REFERENCES logprobs (id),
  teacher_id    INTEGER REFERENCES logprobs (id),
  action_mask   BLOB,    -- one bit per token, least significant first; NULL unless scored
  prompt_tokens INTEGER NOT NULL CHECK (prompt_tokens >= 0), -- of the teacher's prompt; 0: not rendered
  left_out      TEXT,    -- JSON; NULL: the context is whole
  UNIQUE (pass_id, step_id),
  CHECK ((status = 'scored') = (student_id IS NOT NULL)),
  CHECK ((status = 'scored') = (teacher_id IS NOT NULL)),
  CHECK ((status = 'scored') = (action_mask IS NOT NULL))
) STRICT;
CREATE INDEX scores_group ON scores (pass_id, group_id);
