-- What attempts leave besides the texts of their steps: a patch, a log, a report.

CREATE TABLE artifacts (
  id         INTEGER PRIMARY KEY,
  attempt_id INTEGER NOT NULL REFERENCES attempts (id),
  name       TEXT    NOT NULL,
  content    BLOB    NOT NULL, -- framed, without a base
  UNIQUE (attempt_id, name)
) STRICT;
