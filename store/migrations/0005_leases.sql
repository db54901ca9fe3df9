-- The feed: which groups of a run which trainer was given, and which policy versions it posted.

CREATE TABLE feeds (
  id         INTEGER PRIMARY KEY,
  run_id     INTEGER NOT NULL REFERENCES runs (id),
  name       TEXT    NOT NULL,
  created_ms INTEGER NOT NULL,
  UNIQUE (run_id, name)
) STRICT;

CREATE TABLE leases (
  id         INTEGER PRIMARY KEY,
  feed_id    INTEGER NOT NULL REFERENCES feeds (id),
  key        TEXT    NOT NULL, -- made up by the consumer
  consumer   TEXT    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('held', 'acked', 'returned', 'expired')),
  credit_id  INTEGER REFERENCES credit_passes (id),
  score_id   INTEGER REFERENCES score_passes (id),
  granted_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  closed_ms  INTEGER,
  reason     TEXT    NOT NULL, -- why it was returned; '' = not said
  UNIQUE (feed_id, key),
  CHECK ((state = 'held') = (closed_ms IS NULL))
) STRICT;
CREATE INDEX leases_held ON leases (feed_id, expires_ms) WHERE state = 'held';

-- The groups of held and acknowledged leases. A group that comes back loses its row, so the key says
-- that nobody gets a group twice.
CREATE TABLE feed_groups (
  feed_id  INTEGER NOT NULL REFERENCES feeds (id),
  group_id INTEGER NOT NULL REFERENCES groups (id),
  lease_id INTEGER NOT NULL REFERENCES leases (id),
  rows     INTEGER NOT NULL CHECK (rows > 0),
  tokens   INTEGER NOT NULL CHECK (tokens >= 0),
  prompt   INTEGER NOT NULL CHECK (prompt >= 0),
  PRIMARY KEY (feed_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_groups_lease ON feed_groups (lease_id);

CREATE TABLE policy_versions (
  id        INTEGER PRIMARY KEY,
  run_id    INTEGER NOT NULL REFERENCES runs (id),
  version   INTEGER NOT NULL CHECK (version >= 0),
  consumer  TEXT    NOT NULL,
  posted_ms INTEGER NOT NULL,
  UNIQUE (run_id, version)
) STRICT;
