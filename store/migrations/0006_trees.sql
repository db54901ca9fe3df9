-- Trees: an attempt that grew out of another one (its parent) holds the parent's steps up to the fork
-- without storing them again.

-- A step whose shared_id is set has its texts and tokens in that step; its own text columns are empty and
-- it has no row in tokens. Its small columns are copies. The step that it refers to has none itself.
ALTER TABLE steps ADD COLUMN shared_id INTEGER REFERENCES steps (id);
CREATE INDEX steps_shared ON steps (shared_id) WHERE shared_id IS NOT NULL;

CREATE TABLE forks (
  attempt_id INTEGER PRIMARY KEY REFERENCES attempts (id),
  parent_id  INTEGER NOT NULL REFERENCES attempts (id), -- the attempt that closed the parent episode
  step       INTEGER NOT NULL CHECK (step >= 0),        -- first step that is not the parent's
  token      INTEGER NOT NULL CHECK (token >= 0),       -- of its response tokens, those that are the parent's
  CHECK (parent_id <> attempt_id)
) STRICT;
CREATE INDEX forks_parent ON forks (parent_id);

-- Places of a group that no episode took: a tree ended with fewer leaves than were planned.
CREATE TABLE unused (
  group_id INTEGER NOT NULL REFERENCES groups (id),
  sample   INTEGER NOT NULL CHECK (sample >= 0),
  reason   TEXT    NOT NULL,
  PRIMARY KEY (group_id, sample)
) STRICT, WITHOUT ROWID;
