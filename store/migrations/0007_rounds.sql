-- Rounds: a run may take its panel again and again, with new groups each time.

-- Group idx of round r and a panel of n tasks is r·n + the task's idx.
ALTER TABLE groups ADD COLUMN round INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0);

-- Finished groups that a feed gives to nobody: they were too stale. A group is here or in feed_groups.
CREATE TABLE feed_dropped (
  feed_id    INTEGER NOT NULL REFERENCES feeds (id),
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  reason     TEXT    NOT NULL,
  dropped_ms INTEGER NOT NULL,
  PRIMARY KEY (feed_id, group_id)
) STRICT, WITHOUT ROWID;
